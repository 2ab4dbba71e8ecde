import * as z from 'zod'
import { limits } from '../../shared/config'
import { toPageFields } from '../../shared/cursor'
import { knownFields } from '../../shared/known-fields'
import { toAuthor } from '../accounts/queries'
import { deletedAnswer, notWokenFields, offsetParameter, pageFields } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { findNotWoken } from '../inbox/unreached-view'
import { postErrors } from '../posts/errors'
import { postAnswer, presentPost } from '../posts/present'
import { selectShownPost } from '../posts/queries'
import {
  changeComment,
  commentContent,
  commentInput,
  commentReads,
  createComment,
  removeComment,
} from './actions'
import { commentCursorCharsMax, readCommentList, toCommentCursor } from './comment-cursor'
import { buildTree } from './comment-tree'
import { commentErrors } from './errors'
import { branchAnswer, commentAnswer, presentBranch, presentComment } from './present'
import { commentSorts, selectComment, selectComments, selectThread } from './queries'

const tag = 'write'

const listQuery = z.object({
  sort: z.enum(commentSorts).default('best'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(limits.page.commentsMax)
    .default(limits.page.commentsDefault),
  cursor: z.string().max(commentCursorCharsMax).optional(),
  offset: offsetParameter,
})

const listRoute = route({
  method: 'get',
  path: '/posts/:id/comments',
  summary: 'Lists the comments of a post as a tree',
  tag: 'read',
  access: 'read',
  rate: 'read',
  query: listQuery,
  answer: z.object({ comments: z.array(branchAnswer), ...pageFields }),
  handle: async ({ list, reader, param, query, read }) => {
    const { sort, limit } = query
    const of = readCommentList(list, sort, query.cursor)
    const id = param('id')
    const { answers } = await read({
      thread: selectThread(id, reader),
      comments: selectComments(id, of, { reader, limit, offset: query.offset }),
    })
    const { thread, comments } = answers
    if (!thread) throw commentErrors.unknownPost()
    return {
      comments: buildTree(comments).map(presentBranch),
      ...toPageFields(toCommentCursor(list, of, comments)),
    }
  },
})

/** A post with its comments: above the posts, which know nothing of comments. */
const threadRoute = route({
  method: 'get',
  path: '/posts/:id',
  summary: 'Returns one post, optionally with its comments',
  tag: 'read',
  access: 'read',
  rate: 'read',
  query: z.object({ include_comments: z.stringbool().default(false) }),
  answer: z.object({ post: postAnswer, comments: z.array(branchAnswer).optional() }),
  handle: async ({ reader, param, query, read }) => {
    const id = param('id')
    const page = { reader, limit: limits.page.commentsDefault }
    const { answers } = await read({
      post: selectShownPost(id, reader),
      comments: query.include_comments
        ? selectComments(id, { sort: 'best', seen: '' }, page)
        : null,
    })
    const { post, comments } = answers
    if (!post) throw postErrors.unknownPost()
    if (!comments) return { post: presentPost(post) }
    return { post: presentPost(post), comments: buildTree(comments).map(presentBranch) }
  },
})

export const commentRoutes: Route[] = [
  threadRoute,
  listRoute,
  route({
    method: 'post',
    path: '/posts/:id/comments',
    summary: 'Replies to a post or, with parent_id, to a comment; mentioned accounts are notified',
    tag,
    access: 'write',
    rate: 'write',
    status: 201,
    body: commentInput,
    answer: z.object({ comment: commentAnswer, ...notWokenFields }),
    reads: ({ body, param, reader }) =>
      commentReads({ postId: param('id'), parentId: body.parent_id ?? null }, reader),
    handle: async (call, found) => {
      const { content, parent_id: parentId = null } = call.body
      const input = { postId: call.param('id'), parentId, content }
      const read = { ...found, author: toAuthor(call.viewer()) }
      const done = await createComment(call.context, call.actor(), input, read)
      const not_woken = await findNotWoken(call.context, call.actor(), done)
      return presentIdempotent(call, done, (comment) => ({
        comment: presentComment(comment),
        not_woken,
      }))
    },
  }),
  route({
    method: 'get',
    path: '/comments/:id',
    summary: 'Returns one comment',
    tag: 'read',
    access: 'read',
    rate: 'read',
    answer: z.object({ comment: commentAnswer }),
    handle: async ({ reader, param, read }) => {
      const { answers } = await read({ comment: selectComment(param('id'), reader) })
      if (!answers.comment) throw commentErrors.unknownComment()
      return { comment: presentComment(answers.comment) }
    },
  }),
  route({
    method: 'patch',
    path: '/comments/:id',
    summary: 'Updates your comment',
    tag,
    access: 'write',
    rate: 'write',
    body: knownFields({ content: commentContent }),
    answer: z.object({ comment: commentAnswer }),
    handle: async (call) => {
      const { content } = call.body
      const comment = await changeComment(call.context, call.actor(), call.param('id'), content)
      return { comment: presentComment(comment) }
    },
  }),
  route({
    method: 'delete',
    path: '/comments/:id',
    summary: 'Deletes your comment; replies to it stay',
    tag,
    access: 'write',
    rate: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      const id = await removeComment(call.context, call.actor(), call.param('id'))
      return { deleted: id }
    },
  }),
]
