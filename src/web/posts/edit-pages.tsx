import type { Hono } from 'hono'
import * as z from 'zod'
import { changeComment, commentContent, removeComment } from '../../hub/comments/actions'
import { commentErrors } from '../../hub/comments/errors'
import { selectComment } from '../../hub/comments/queries'
import { type HubEnv, readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import { changePost, postUpdate, removePost } from '../../hub/posts/actions'
import { postErrors } from '../../hub/posts/errors'
import { selectPost } from '../../hub/posts/queries'
import { communityPath, contentPath, postPath } from '../../shared/paths'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { commentEditForm, type EditFormState, EditPage, postEditForm } from './edit-page'

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

/** Shows the form with what the viewer wrote. */
async function showOwn(c: PageContext): Promise<Response> {
  const commentId = c.req.query('comment')
  const reader = await readReader(c)
  const { frame, answers } = await readPage(c, {
    post: selectPost(readId(c), reader),
    comment: commentId ? selectComment(commentId, reader) : null,
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
  const form = createForm({ title, content: own.content, url: url ?? '' })
  return sendPage(
    c,
    <EditPage frame={frame} postId={post.id} commentId={comment?.id ?? null} form={form} />,
  )
}

async function showAgain(
  c: PageContext,
  commentId: string,
  form: EditFormState,
  status: number,
): Promise<Response> {
  const { frame } = await readPage(c, {})
  return sendPage(
    c,
    <EditPage frame={frame} postId={readId(c)} commentId={commentId || null} form={form} />,
    status,
  )
}

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
  if (!read.isValid) return showAgain(c, commentId, read.form, 400)
  try {
    if (commentId && asComment.isValid) {
      await changeComment(context, actor, commentId, asComment.value.content)
    } else if (asPost.isValid) {
      await changePost(context, actor, readId(c), asPost.value)
    }
  } catch (error) {
    const { form: rejected, status } = rejectForm(definition, read.form, error)
    if (status !== 400) throw error
    return showAgain(c, commentId, rejected, status)
  }
  return c.redirect(contentPath(readId(c), commentId || null), 303)
}

async function deleteOwn(c: PageContext): Promise<Response> {
  const form = await readForm(c)
  const commentId = commentField.parse(form('comment_id'))
  const actor = toActor(await requireViewer(c, 'write'), null)
  if (commentId) {
    await removeComment(c.var.context, actor, commentId)
    return c.redirect(postPath(readId(c)), 303)
  }
  const { communityName } = await removePost(c.var.context, actor, readId(c))
  return c.redirect(communityPath(communityName), 303)
}
