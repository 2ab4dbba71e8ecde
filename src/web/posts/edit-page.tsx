import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import * as z from 'zod'
import {
  changeComment,
  commentContent,
  commentErrors,
  removeComment,
} from '../../hub/comments/actions'
import { selectComment } from '../../hub/comments/queries'
import { type HubEnv, readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import { changePost, postErrors, postUpdate, removePost } from '../../hub/posts/actions'
import { selectPost } from '../../hub/posts/queries'
import { limits } from '../../shared/config'
import { communityPath, contentPath, postPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import { assetPaths } from '../frame/assets'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AddImage } from '../parts/add-image'
import { Formatting } from '../parts/formatting'
import { PreviewButton } from './composer'

const postInput = postUpdate.required()
const commentInput = z.object({ content: commentContent })
const commentField = z.string().max(100)

/** Registers the pages on which authors edit and delete what they wrote. */
export function registerEditPages(app: Hono<HubEnv>): void {
  app.get('/p/:id/edit', page(showOwn))
  app.post('/p/:id/edit', page(save))
  app.post('/p/:id/delete', page(deleteOwn))
}

const readId = (c: PageContext): string => c.req.param('id') ?? ''

/** A form that was not saved. */
interface Rejected {
  form: EditFormState
  status: number
  /** When the text that was edited had been changed last; that of now unless given. */
  base?: string
}

const showOwn = (c: PageContext): Promise<Response> => show(c, c.req.query('comment'))

/** Shows the form with what the viewer wrote, or with what was typed and not saved. */
async function show(
  c: PageContext,
  commentId: string | undefined,
  rejected?: Rejected,
): Promise<Response> {
  const reader = await readReader(c)
  const { frame, answers } = await readPage(c, {
    post: selectPost({ id: readId(c), reader }),
    comment: commentId ? selectComment({ id: commentId, reader }) : null,
  })
  const { post, comment } = answers
  if (!frame.viewer) await requireViewer(c, 'read')
  if (commentId && (!comment || comment.deletedAt !== null)) throw commentErrors.unknownComment()
  if (!post) throw postErrors.unknownPost()
  const own = comment ?? post
  if (own.authorId !== frame.viewer?.id) {
    throw comment ? commentErrors.notAuthor() : postErrors.notAuthor()
  }
  const { title, url } = post
  const stored = createForm({ title, content: own.content, url: url ?? '' })
  return sendPage(
    c,
    <EditPage
      frame={frame}
      postId={post.id}
      commentId={comment?.id ?? null}
      form={rejected?.form ?? stored}
      base={rejected?.base ?? toBase(own.editedAt)}
    />,
    rejected?.status,
  )
}

const toBase = (editedAt: number | null): string => String(editedAt ?? 0)

/** Returns the time at which the edited text was changed last, 0 for never; undefined for a form that does not say. */
const readBase = (text: string): number | undefined =>
  /^\d{1,15}$/.test(text) ? Number(text) : undefined

async function save(c: PageContext): Promise<Response> {
  const form = await readForm(c)
  const commentId = commentField.parse(form('comment_id'))
  const viewer = await requireViewer(c, 'write')
  const actor = toActor(viewer, null)
  const { context } = c.var
  const definition = commentId ? commentEditForm : postEditForm
  const asComment = readFormWith(commentInput, form, commentEditForm)
  const asPost = readFormWith(postInput, form, postEditForm)
  const read = commentId ? asComment : asPost
  const base = form('base')
  if (!read.isValid) return show(c, commentId, { form: read.form, status: 400, base })
  try {
    if (commentId && asComment.isValid) {
      await changeComment(context, actor, commentId, asComment.value.content, readBase(base))
    } else if (asPost.isValid) {
      await changePost(context, actor, readId(c), asPost.value, readBase(base))
    }
  } catch (error) {
    const { form: rejected, status } = rejectForm(definition, read.form, error)
    if (status === 409) return show(c, commentId, { form: rejected, status })
    if (status !== 400) throw error
    return show(c, commentId, { form: rejected, status, base })
  }
  return c.redirect(contentPath(readId(c), commentId || null), 303)
}

async function deleteOwn(c: PageContext): Promise<Response> {
  const form = await readForm(c)
  const commentId = commentField.parse(form('comment_id'))
  const actor = toActor(await requireViewer(c, 'write'), null)
  if (commentId) {
    await removeComment(c.var.context, actor, commentId)
    return c.redirect(`${postPath(readId(c))}?deleted`, 303)
  }
  const { communityName } = await removePost(c.var.context, actor, readId(c))
  return c.redirect(`${communityPath(communityName)}?deleted`, 303)
}

type EditField = 'title' | 'content' | 'url'
type EditFormState = FormState<EditField>

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
const commentEditForm: FormDefinition<EditField> = {
  rejected: 'The reply was not saved.',
  fields: {
    title: { path: null },
    content: { message: describeText('The reply', limits.comment.contentCharsMax) },
    url: { path: null },
  },
}

interface EditFormProps {
  postId: string
  /** Null for the post itself. */
  commentId: string | null
  form: EditFormState
  /** When the text had been changed last, so that a form does not undo an edit it does not show. */
  base: string
}

/** The author's page to edit or delete a post or a comment. */
const EditPage: FC<EditFormProps & { frame: Frame }> = ({ frame, ...edited }) => {
  const { postId, commentId } = edited
  const noun = commentId === null ? 'post' : 'reply'
  return (
    <Layout frame={frame} title={`Edit your ${noun}`}>
      <h1>Edit your {noun}</h1>
      <p class="lede">Readers see that it was edited. A mention that you add notifies nobody.</p>
      <EditForm {...edited} />
      <details class="up6">
        <summary class="meta">Delete this {noun}</summary>
        <form class="form up2" method="post" action={`${postPath(postId)}/delete`}>
          <Target commentId={commentId} />
          <p>
            {commentId === null
              ? 'A deleted post is gone for everybody, and so is its thread.'
              : 'A deleted reply is gone for everybody. Replies to it stay.'}
          </p>
          <div class="acts">
            <Submit>Delete {noun}</Submit>
          </div>
        </form>
      </details>
    </Layout>
  )
}

const Target: FC<{ commentId: string | null }> = ({ commentId }) =>
  commentId !== null && <input type="hidden" name="comment_id" value={commentId} />

export const EditForm: FC<EditFormProps> = ({ postId, commentId, form, base }) => (
  <>
    <ErrorSummary problem={form.problem} />
    <form
      class="form up4"
      method="post"
      action={`${postPath(postId)}/edit`}
      data-preview={assetPaths().preview}
    >
      <Target commentId={commentId} />
      <input type="hidden" name="edit" value={postId} />
      <input type="hidden" name="base" value={base} />
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
        <Submit isMain>Save</Submit>
        <AddImage />
        <a class="meta" href={contentPath(postId, commentId)}>
          Cancel
        </a>
        <PreviewButton />
      </div>
      <Formatting />
    </form>
  </>
)
