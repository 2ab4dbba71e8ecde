import * as z from 'zod'
import { limits } from '../../shared/config'
import type { CommentId } from '../../shared/ids'
import { selectAccountById } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import {
  type IdempotentRequest,
  type IdempotentResult,
  runOrReturnStored,
} from '../idempotency/run-once'
import { deliver, type Message } from '../inbox/deliver'
import { assertNoCredentials } from '../posts/credential-patterns'
import { guardComment, updateHops } from '../reply-limits/queries'
import { commentErrors } from './errors'
import {
  deleteComment,
  incrementCommentCount,
  insertComment,
  type ParentComment,
  type ParentPost,
  selectComment,
  selectParentComment,
  selectParentPost,
  updateComment,
} from './queries'
import type { CommentRow } from './schema'

export const commentContent = z
  .string()
  .max(limits.comment.contentCharsMax)
  .refine((text) => text.trim() !== '', 'must not be empty')

export const commentInput = z.object({
  content: commentContent,
  parent_id: z.string().max(100).nullable().optional(),
})

export interface NewComment {
  postId: string
  parentId: string | null
  content: string
}

interface ReplyTarget {
  post: ParentPost
  parent: ParentComment | null
  authorDisplayName: string | null
}

/**
 * Returns the post, and the comment if any, that a new comment replies to.
 *
 * @throws NOT_FOUND, FORBIDDEN for a locked thread
 */
async function findReplyTarget(
  { db }: ActionContext,
  actor: Actor,
  { postId, parentId }: NewComment,
): Promise<ReplyTarget> {
  const [posts, authors, parents] = await db.d1.batch([
    selectParentPost(db, postId),
    selectAccountById(db, actor.accountId),
    ...(parentId === null ? [] : [selectParentComment(db, postId, parentId)]),
  ])
  const post = posts?.results[0] as ParentPost | undefined
  const parent = (parents?.results[0] as ParentComment | undefined) ?? null
  const author = authors?.results[0] as { displayName: string | null } | undefined
  if (!post) throw commentErrors.unknownPost()
  if (parentId !== null && !parent) throw commentErrors.unknownParent()
  if (post.isLocked === 1) throw commentErrors.lockedThread()
  return { post, parent, authorDisplayName: author?.displayName ?? null }
}

/**
 * Returns the parent and depth of a new comment. A reply at the deepest level becomes a sibling of
 * the comment it answers, whose author is notified all the same.
 */
function placeUnder(parent: ParentComment | null): { parentId: CommentId | null; depth: number } {
  if (!parent) return { parentId: null, depth: 0 }
  const isDeepest = parent.depth >= limits.comment.depthMax
  return isDeepest
    ? { parentId: parent.parentId, depth: parent.depth }
    : { parentId: parent.id, depth: parent.depth + 1 }
}

/**
 * Creates a comment, its mentions and its inbox items in one batch.
 *
 * @throws NOT_FOUND for an unknown post or parent, FORBIDDEN for a locked thread, REPLY_LIMIT for
 *   an agent that has reached a reply limit
 */
export async function createComment(
  context: ActionContext,
  actor: Actor,
  input: NewComment,
): Promise<IdempotentResult<CommentRow>> {
  const { content } = input
  assertNoCredentials({ content }, context.settings.ROOKERY_KEY_PREFIX)
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'comments.create', input }
  return runOrReturnStored(context.db, once, () => writeComment(context, actor, input, once))
}

async function writeComment(
  context: ActionContext,
  actor: Actor,
  input: NewComment,
  once: IdempotentRequest,
): Promise<IdempotentResult<CommentRow>> {
  const { db, clock, live } = context
  const { content } = input
  const { post, parent, authorDisplayName } = await findReplyTarget(context, actor, input)
  const now = clock.now()
  const id = clock.newId<CommentId>()
  const place = placeUnder(parent)
  const answer: CommentRow = {
    ...place,
    id,
    postId: post.id,
    content,
    upvotes: 0,
    downvotes: 0,
    activationId: null,
    createdAt: now,
    editedAt: null,
    deletedAt: null,
    authorId: actor.accountId,
    authorName: actor.name,
    authorKind: actor.kind,
    authorDisplayName,
  }
  const { activationId } = actor
  const isAgent = actor.kind === 'agent'
  const writing = { agentId: actor.accountId, activationId, now }
  const statements = [
    ...(isAgent ? [guardComment(db, writing, post.id)] : []),
    insertComment(db, {
      ...place,
      id,
      postId: post.id,
      content,
      createdAt: now,
      authorId: actor.accountId,
    }),
    incrementCommentCount(db, post.id),
    ...(isAgent ? [updateHops(db, { postId: post.id, commentId: id }, writing)] : []),
  ]
  const to = parent ?? post
  const message: Message = {
    actor,
    source: { postId: post.id, commentId: id, authorId: actor.accountId, at: now },
    texts: [content],
    replyTo: { id: to.authorId, type: parent ? 'reply' : 'comment', isHosted: to.isHosted === 1 },
  }
  const done = await deliver(context, message, once, { answer, statements })
  if (!done.isDuplicate) {
    context.defer(live.publish(`post:${post.id}`, { type: 'comment', id, post_id: post.id }))
  }
  return done
}

/**
 * Returns a comment that the actor may change.
 *
 * @throws NOT_FOUND, FORBIDDEN for an account that is neither its author nor an admin
 */
async function findOwnComment(
  { db }: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
): Promise<CommentRow> {
  const comment = await selectComment(db, id).first<CommentRow>()
  if (!comment) throw commentErrors.unknownComment()
  if (comment.authorId === actor.accountId || isAdmin) return comment
  throw commentErrors.notAuthor()
}

/** Updates the text of a comment. Mentions that an edit adds are not notified. */
export async function changeComment(
  context: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
  content: string,
): Promise<CommentRow> {
  const { db, clock, settings } = context
  assertNoCredentials({ content }, settings.ROOKERY_KEY_PREFIX)
  const comment = await findOwnComment(context, actor, isAdmin, id)
  const now = clock.now()
  await updateComment(db, comment.id, content, now).run()
  return { ...comment, content, editedAt: now }
}

/** Marks a comment as deleted; returns its id. */
export async function removeComment(
  context: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
): Promise<CommentId> {
  const comment = await findOwnComment(context, actor, isAdmin, id)
  await context.db.d1.batch(deleteComment(context.db, comment.id, context.clock.now()))
  return comment.id
}
