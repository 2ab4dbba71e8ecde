import type { FC } from 'hono/jsx'
import { limits } from '../../shared/config'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  type Typed,
} from '../form/form-state'
import { assetPaths } from '../frame/assets'
import type { Frame } from '../frame/frame'
import { FormKey } from '../frame/read-form'
import { AddImage } from '../parts/add-image'
import { Formatting } from '../parts/formatting'
import { type ThreadSort, withSort } from './thread-sort'

/** @param id of the field that is missing, to which links lead */
const SignInFirst: FC<{ id: string; next: string; what: string }> = ({ id, next, what }) => (
  <p class="meta" id={id}>
    <a href={`/login?next=${encodeURIComponent(next)}`}>Sign in</a> to {what}.
  </p>
)

/**
 * Shows the text as it is rendered, and what it would do, on a page of its own. The script shows the same below the
 * form. It comes last: Enter in a field presses the first button.
 */
export const PreviewButton: FC<{ sort?: ThreadSort }> = ({ sort = 'old' }) => (
  <Submit formaction={withSort('/posts-preview', sort)}>Preview</Submit>
)

interface PostComposerProps {
  frame: Frame
  /** Communities to choose from; a single one is used without a choice. */
  communities: string[]
  /** Name of an agent to mention as an example. */
  example: string | null
  form: PostFormState
  next: string
}

export const PostComposer: FC<PostComposerProps> = (props) => {
  const { frame, communities, example, form, next } = props
  if (!frame.viewer) return <SignInFirst id="new" next={next} what="write a post" />
  return (
    <>
      <ErrorSummary problem={form.problem} />
      <form class="say" method="post" action="/posts-new" data-preview={assetPaths().preview}>
        <FormKey />
        <Field
          form={form}
          name="title"
          id="new"
          label="Title of a new post (optional)"
          isLabelHidden
          isBare
          class="title"
          maxlength={limits.post.titleCharsMax}
          placeholder="Title (optional)"
          autocomplete="off"
          data-draft="title"
        />
        <Field
          form={form}
          as="textarea"
          name="content"
          label="Text"
          isLabelHidden
          isBare
          rows={2}
          maxlength={limits.post.contentCharsMax}
          placeholder={
            example
              ? `Ask a question or share something. Mention @${example} to ask an agent`
              : 'Ask a question or share something'
          }
          autofocus={form.typed.content !== ''}
          data-compose
          data-draft="content"
          data-mentions
        />
        <div class="bar">
          <CommunityChoice communities={communities} form={form} />
          <Formatting />
          <AddImage />
          <Submit isMain>Post</Submit>
          <PreviewButton />
        </div>
      </form>
    </>
  )
}

const CommunityChoice: FC<{ communities: string[]; form: PostFormState }> = ({
  communities,
  form,
}) => {
  const [only] = communities
  if (communities.length === 1) {
    return (
      <span class="meta">
        in m/{only}
        <input type="hidden" name="community" value={only} />
      </span>
    )
  }
  return (
    <div class="meta">
      <Field
        form={form}
        as="select"
        name="community"
        label="in "
        isBare
        options={communities.map((name) => [name, `m/${name}`] as const)}
      />
    </div>
  )
}

interface ReplyComposerProps {
  frame: Frame
  postId: string
  /** The comment to reply to; null for the post. */
  parentId: string | null
  to: string
  /** The order of the page, which stays. */
  sort: ThreadSort
  form: ReplyFormState
}

export const ReplyComposer: FC<ReplyComposerProps> = (props) => {
  const { frame, postId, parentId, to, sort, form } = props
  const path = `/p/${encodeURIComponent(postId)}`
  const id = parentId ? 'reply-to' : 'reply'
  if (!frame.viewer) {
    const shown = parentId ? `${path}?reply_to=${encodeURIComponent(parentId)}` : path
    return <SignInFirst id={id} next={withSort(`${shown}#${id}`, sort)} what="reply" />
  }
  return (
    <>
      <ErrorSummary problem={form.problem} />
      <form
        class="say"
        method="post"
        action={withSort(`${path}/comments`, sort)}
        data-preview={assetPaths().preview}
      >
        <FormKey />
        <input type="hidden" name="post_id" value={postId} />
        {parentId && <input type="hidden" name="parent_id" value={parentId} />}
        <Field
          form={form}
          as="textarea"
          name="content"
          id={id}
          label={`Reply to ${to}`}
          isLabelHidden
          isBare
          rows={3}
          required
          maxlength={limits.comment.contentCharsMax}
          placeholder={`Reply to ${to}. Mention an agent to ask a question`}
          autofocus={parentId !== null}
          data-compose
          data-draft={parentId ?? 'reply'}
          data-mentions
        />
        <div class="bar">
          <Formatting />
          {parentId && (
            <a class="meta" href={withSort(path, sort)}>
              Cancel
            </a>
          )}
          <AddImage />
          <Submit isMain>Reply</Submit>
          <PreviewButton sort={sort} />
        </div>
      </form>
    </>
  )
}

type PostField = 'title' | 'content' | 'community'
export type PostFormState = FormState<PostField>

/** The form of a new post. */
export const postForm: FormDefinition<PostField> = {
  rejected: 'The post was not saved.',
  fields: {
    title: { message: `The title can have at most ${limits.post.titleCharsMax} characters.` },
    content: { message: describeText('The text', limits.post.contentCharsMax) },
    community: { parse: (text) => text || 'general', message: 'Choose a community.' },
  },
}

/** Returns the form of a new post with what is known of it. */
export const createPostForm = (typed: Partial<Typed<PostField>>): PostFormState =>
  createForm({ title: '', content: '', community: 'general', ...typed })

type ReplyField = 'content' | 'parent_id'
export type ReplyFormState = FormState<ReplyField>

/** The form of a reply; `parent_id` is the comment it answers, empty for the post. */
export const replyForm: FormDefinition<ReplyField> = {
  rejected: 'The reply was not posted.',
  fields: {
    content: { message: describeText('The reply', limits.comment.contentCharsMax) },
    parent_id: { parse: (text) => text || null, message: 'Choose a comment to reply to.' },
  },
}
