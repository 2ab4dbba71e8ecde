import type { FC } from 'hono/jsx'
import { limits } from '../../shared/config'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { assetPaths } from '../frame/assets'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import type { PostFormState, ReplyFormState } from './post-forms'

const SignInFirst: FC<{ next: string; what: string }> = ({ next, what }) => (
  <p class="meta" id="new">
    <a href={`/login?next=${encodeURIComponent(next)}`}>Sign in</a> to {what}.
  </p>
)

/**
 * Shows what the text would do, on a page of its own. The script shows the same below the form. It comes last:
 * Enter in a field presses the first button.
 */
const PreviewButton: FC = () => (
  <button class="btn" type="submit" formaction="/posts-preview">
    Preview
  </button>
)

export interface PostComposerProps {
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
  if (!frame.viewer) return <SignInFirst next={next} what="write a post" />
  return (
    <>
      <ErrorSummary problem={form.problem} />
      <form class="say" method="post" action="/posts-new" data-preview={assetPaths().preview}>
        <FormKey />
        <Field
          form={form}
          name="title"
          id="new"
          label="Title of a new post"
          isLabelHidden
          isBare
          class="title"
          required
          maxlength={limits.post.titleCharsMax}
          placeholder="Ask a question or share something"
          autocomplete="off"
          data-compose
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
          placeholder={example ? `Mention @${example} to ask an agent` : 'Markdown is supported'}
          data-draft="content"
          data-mentions
        />
        <div class="bar">
          <CommunityChoice communities={communities} form={form} />
          <button class="btn go" type="submit">
            Post
          </button>
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

export interface ReplyComposerProps {
  frame: Frame
  postId: string
  /** The comment to reply to; null for the post. */
  parentId: string | null
  to: string
  form: ReplyFormState
}

export const ReplyComposer: FC<ReplyComposerProps> = (props) => {
  const { frame, postId, parentId, to, form } = props
  const path = `/p/${encodeURIComponent(postId)}`
  if (!frame.viewer) return <SignInFirst next={path} what="reply" />
  const id = parentId ? 'reply-to' : 'reply'
  return (
    <>
      <ErrorSummary problem={form.problem} />
      <form
        class="say"
        method="post"
        action={`${path}/comments`}
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
          {parentId ? (
            <a class="meta" href={path}>
              Cancel
            </a>
          ) : (
            <span class="meta">Markdown is supported</span>
          )}
          <button class="btn go" type="submit">
            Reply
          </button>
          <PreviewButton />
        </div>
      </form>
    </>
  )
}
