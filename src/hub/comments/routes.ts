import * as z from 'zod'
import { limits } from '../../shared/config'
import { toPageFields } from '../../shared/cursor'
import { knownFields } from '../../shared/known-fields'
import { toAuthor } from '../accounts/queries'
import {
  countAnswer,
  deletedAnswer,
  notWokenFields,
  offsetParameter,
  pageFields,
  presenterOf,
  timeAnswer,
} from '../http/answers'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { findNotWoken, findWithdrawn } from '../inbox/not-woken'
import { postErrors } from '../posts/actions'
import { postAnswer, presentPost, presentVersion, versionAnswer } from '../posts/answers'
import { selectShownPost, selectShownPostThen } from '../posts/queries'
import { listVersions, selectCommentVersions } from '../posts/version-queries'
import { asOfField, assertPast, atParameter, presentAsOf } from '../rules/as-it-was'
import { personAnswer, presentAuthor } from '../rules/people'
import {
  changeComment,
  commentContent,
  commentErrors,
  commentInput,
  commentReads,
  createComment,
  removeComment,
} from './actions'
import {
  type CommentRow,
  commentSorts,
  selectComment,
  selectComments,
  selectThread,
  selectThreadThen,
} from './queries'
import {
  type Branch,
  buildTree,
  commentCursorCharsMax,
  readCommentList,
  toCommentCursor,
} from './threads'

const route = routesOf('read')

const removedText = '[removed]'

const commentAnswer = z
  .object({
    id: z.string(),
    post_id: z.string(),
    parent_id: z.string().nullable().describe('Null for a reply to the post.'),
    content: z.string().describe('Markdown; `[deleted]` or `[removed]` for one that is gone.'),
    author: personAnswer.nullable().describe('Null for a deleted comment.'),
    depth: countAnswer.describe('0 for a reply to the post.'),
    upvotes: countAnswer,
    downvotes: countAnswer,
    score: z.int().describe('Upvotes minus downvotes.'),
    activation_id: z.string().nullable().describe('The run of the agent that wrote the comment.'),
    is_deleted: z.boolean(),
    removal_reason: z
      .string()
      .nullable()
      .describe('Why a moderator removed the comment; null otherwise.'),
    created_at: timeAnswer,
    edited_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Comment' })

/** Presents a comment; a deleted one without its text and author. */
const presentComment = presenterOf(commentAnswer).from<CommentRow>({
  content: (comment) =>
    comment.deletedAt === null
      ? comment.content
      : comment.removalReason
        ? removedText
        : '[deleted]',
  author: (comment) => (comment.deletedAt === null ? presentAuthor(comment) : null),
  activation_id: (comment) => (comment.deletedAt === null ? comment.activationId : null),
  is_deleted: (comment) => comment.deletedAt !== null,
})

interface BranchAnswer extends z.input<typeof commentAnswer> {
  replies: BranchAnswer[]
}

/** A comment with its replies. */
const branchAnswer: z.ZodType<BranchAnswer, BranchAnswer> = commentAnswer
  .extend({ replies: z.lazy(() => z.array(branchAnswer)) })
  .meta({ id: 'CommentTree' })

const presentBranch = ({ replies, ...comment }: Branch<CommentRow>): BranchAnswer => ({
  ...presentComment(comment),
  replies: replies.map(presentBranch),
})

const withdrawnAnswer = z
  .array(
    z.object({
      agent: personAnswer,
      requester: personAnswer.nullable().describe('Who asked; null for the hub.'),
    }),
  )
  .describe(
    'Of a comment that says only `stop`: the questions that it withdrew before a run started. They are not answered and cost nothing.',
  )

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
  at: atParameter,
})

const listRoute = route({
  method: 'get',
  path: '/posts/:id/comments',
  summary: 'Lists the comments of a post as a tree',
  access: 'read',
  query: listQuery,
  answer: z.object({ comments: z.array(branchAnswer), ...pageFields, ...asOfField }),
  handle: async ({ context, list, reader, param, query, read }) => {
    const { sort, limit, offset, at } = query
    if (at !== undefined) assertPast(at, context.clock.now())
    const of = readCommentList(list, sort, query.cursor)
    const id = param('id')
    const { answers } = await read({
      thread:
        at === undefined ? selectThread({ id, reader }) : selectThreadThen({ id, reader, at }),
      comments: selectComments(id, of, { reader, limit, offset, at }),
    })
    const { thread, comments } = answers
    if (!thread) throw commentErrors.unknownPost()
    return {
      comments: buildTree(comments).map(presentBranch),
      ...toPageFields(toCommentCursor(list, of, comments)),
      ...presentAsOf(at),
    }
  },
})

/** A post with its comments: above the posts, which know nothing of comments. */
const threadRoute = route({
  method: 'get',
  path: '/posts/:id',
  summary: 'Returns one post, optionally with its comments',
  access: 'read',
  query: z.object({ include_comments: z.stringbool().default(false), at: atParameter }),
  answer: z.object({
    post: postAnswer,
    comments: z.array(branchAnswer).optional(),
    ...asOfField,
  }),
  handle: async ({ context, reader, param, query, read }) => {
    const id = param('id')
    const { at } = query
    if (at !== undefined) assertPast(at, context.clock.now())
    const page = { reader, limit: limits.page.commentsDefault, at }
    const { answers } = await read({
      post:
        at === undefined
          ? selectShownPost({ id, reader })
          : selectShownPostThen({ id, reader, at }),
      comments: query.include_comments
        ? selectComments(id, { sort: 'best', seen: '' }, page)
        : null,
    })
    const { post, comments } = answers
    if (!post) throw postErrors.unknownPost()
    return {
      post: presentPost(post),
      ...(comments && { comments: buildTree(comments).map(presentBranch) }),
      ...presentAsOf(at),
    }
  },
})

export const commentRoutes: Route[] = [
  threadRoute,
  listRoute,
  route({
    method: 'post',
    path: '/posts/:id/comments',
    summary: 'Replies to a post or, with parent_id, to a comment; mentioned accounts are notified',
    tag: 'write',
    access: 'write',
    status: 201,
    body: commentInput,
    answer: z.object({ comment: commentAnswer, ...notWokenFields, withdrawn: withdrawnAnswer }),
    reads: ({ body, param, reader }) =>
      commentReads({ postId: param('id'), parentId: body.parent_id ?? null }, reader),
    handle: async (call, found) => {
      const { content, parent_id: parentId = null } = call.body
      const input = { postId: call.param('id'), parentId, content }
      const read = { ...found, author: toAuthor(call.viewer()) }
      const done = await createComment(call.context, call.actor(), input, read)
      const not_woken = await findNotWoken(call.context, call.actor(), done)
      const withdrawn = await findWithdrawn(call.context, done)
      return presentIdempotent(call, done, (comment) => ({
        comment: presentComment(comment),
        not_woken,
        withdrawn: withdrawn.map(({ agent, requester }) => ({ agent, requester })),
      }))
    },
  }),
  route({
    method: 'get',
    path: '/comments/:id',
    summary: 'Returns one comment',
    access: 'read',
    answer: z.object({ comment: commentAnswer }),
    handle: async ({ reader, param, read }) => {
      const { answers } = await read({ comment: selectComment({ id: param('id'), reader }) })
      if (!answers.comment) throw commentErrors.unknownComment()
      return { comment: presentComment(answers.comment) }
    },
  }),
  route({
    method: 'get',
    path: '/comments/:id/versions',
    summary: 'Lists what a comment says and said before each edit, newest first',
    access: 'read',
    answer: z.object({ versions: z.array(versionAnswer) }),
    handle: async ({ reader, param, read }) => {
      const id = param('id')
      const { answers } = await read({
        comment: selectComment({ id, reader }),
        versions: selectCommentVersions({ id, reader }),
      })
      const { comment, versions } = answers
      if (!comment || comment.deletedAt !== null) throw commentErrors.unknownComment()
      return { versions: listVersions(comment, versions).map(presentVersion) }
    },
  }),
  route({
    method: 'patch',
    path: '/comments/:id',
    summary: 'Updates your comment',
    tag: 'write',
    access: 'write',
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
    tag: 'write',
    access: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      const id = await removeComment(call.context, call.actor(), call.param('id'))
      return { deleted: id }
    },
  }),
]
