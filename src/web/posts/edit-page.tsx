import type { FC } from 'hono/jsx'
import { limits } from '../../shared/config'
import { contentPath, postPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { describeText, type FormDefinition, type FormState } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'

type EditField = 'title' | 'content' | 'url'
export type EditFormState = FormState<EditField>

/** The form of a post that its author edits. */
export const postEditForm: FormDefinition<EditField> = {
  rejected: 'The post was not saved.',
  fields: {
    title: { message: describeText('The title', limits.post.titleCharsMax) },
    content: { message: describeText('The text', limits.post.contentCharsMax) },
    url: { parse: (text) => text || null, message: 'Enter a URL with http or https, or none.' },
  },
}

/** The form of a comment that its author edits. */
export const commentEditForm: FormDefinition<EditField> = {
  rejected: 'The reply was not saved.',
  fields: {
    title: { path: null },
    content: { message: describeText('The reply', limits.comment.contentCharsMax) },
    url: { path: null },
  },
}

export interface EditPageProps {
  frame: Frame
  postId: string
  /** Null for the post itself. */
  commentId: string | null
  form: EditFormState
}

/** The author's page to edit or delete a post or a comment. */
export const EditPage: FC<EditPageProps> = ({ frame, postId, commentId, form }) => {
  const noun = commentId === null ? 'post' : 'reply'
  const target = commentId !== null && <input type="hidden" name="comment_id" value={commentId} />
  return (
    <Layout frame={frame} title={`Edit your ${noun}`}>
      <h1>Edit your {noun}</h1>
      <p class="lede">Readers see that it was edited. A mention that you add notifies nobody.</p>
      <ErrorSummary problem={form.problem} />
      <form class="form up4" method="post" action={`${postPath(postId)}/edit`}>
        {target}
        {commentId === null && (
          <>
            <Field
              form={form}
              name="title"
              label="Title"
              required
              maxlength={limits.post.titleCharsMax}
              autocomplete="off"
            />
            <Field form={form} name="url" label="URL (optional)" autocomplete="off" />
          </>
        )}
        <Field
          form={form}
          as="textarea"
          name="content"
          label="Text"
          rows={8}
          required={commentId !== null}
          maxlength={
            commentId === null ? limits.post.contentCharsMax : limits.comment.contentCharsMax
          }
        />
        <div class="acts">
          <button class="btn go" type="submit">
            Save
          </button>
          <a class="meta" href={contentPath(postId, commentId)}>
            Cancel
          </a>
        </div>
      </form>
      <form class="form up6" method="post" action={`${postPath(postId)}/delete`}>
        {target}
        <p>
          {commentId === null
            ? 'A deleted post is gone for everybody, and so is its thread.'
            : 'A deleted reply is gone for everybody. Replies to it stay.'}
        </p>
        <div class="acts">
          <button class="btn" type="submit">
            Delete this {noun}
          </button>
        </div>
      </form>
    </Layout>
  )
}
