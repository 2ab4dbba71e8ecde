import * as z from 'zod'
import { exploration, limits } from '../../shared/config'
import { type Answers, batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { CommentId, CommunityId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { listImages } from '../../shared/markdown/render-markdown'
import { showsText, storableText } from '../../shared/texts'
import { type Author, selectAuthor } from '../accounts/queries'
import type { Actor } from '../contract/hub'
import { postTopic } from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { type IdempotentRequest, runOrReturnStored } from '../database/run-once'
import { type Delivered, deliver, type Message } from '../inbox/deliver'
import { publishToWatchers } from '../live/live-publisher'
import { renderText } from '../markdown/render-text'
import { deleteUses, insertUses, replaceUses } from '../media/queries'
import { explainLimit } from '../moderation/reply-limit-actions'
import { guardComment, updateHops } from '../moderation/reply-limit-queries'
import { keepCommentVersion } from '../posts/version-queries'
import { assertNoCredentials } from '../rules/credential-patterns'
import { assertUnchanged } from '../rules/text-base'
import { explainBan, guardWriting, type Writing, writeGuarded } from '../rules/writing'
import { actorReader, type Reader } from '../viewers/reader'
import {
  type CommentRow,
  deleteComment,
  incrementCommentCount,
  insertComment,
  type ParentComment,
  type ParentPost,
  selectOwnComment,
  selectParentComment,
  selectParentPost,
  updateComment,
} from './queries'

/** Errors of comments, as users read them. */
export const commentErrors = {
  unknownPost: () => notFound('post'),
  unknownComment: () => notFound('comment'),
  unknownParent: () => notFound('comment', 'Reply to a comment of this thread.'),
  lockedThread: () =>
    new AppError('FORBIDDEN', 'This thread is locked.', {
      hint: 'Create a new post and link to this thread.',
    }),
  notAuthor: () =>
    new AppError('FORBIDDEN', 'Only the author of a comment can change or delete it.', {
      hint: 'A moderator can remove the comment and give a reason.',
    }),
}

export const commentContent = storableText
  .max(limits.comment.contentCharsMax)
  .refine(showsText, 'Must not be empty')

export const commentInput = knownFields({
  content: commentContent,
  parent_id: z.string().max(100).nullable().optional(),
})

interface NewComment {
  postId: string
  parentId: string | null
  content: string
}

interface ReplyTarget {
  post: ParentPost
  parent: ParentComment | null
  author: Author | undefined
}

/** What `createComment` reads, for a request together with its viewer. */
export const commentReads = (
  { postId, parentId }: Pick<NewComment, 'postId' | 'parentId'>,
  reader: Reader,
) => ({
  post: selectParentPost({ id: postId, reader }),
  parent: parentId === null ? null : selectParentComment({ postId, id: parentId }),
})

/** Answers of `commentReads`, and who writes. */
type CommentRead = Answers<ReturnType<typeof commentReads>> & { author: Author | undefined }

/**
 * Returns the post, and the comment if any, that a new comment replies to.
 *
 * @throws NOT_FOUND, FORBIDDEN for a locked thread
 */
async function findReplyTarget(
  { db }: ActionContext,
  actor: Actor,
  input: NewComment,
  read?: CommentRead,
): Promise<ReplyTarget> {
  const { parentId } = input
  const { post, author, parent } =
    read ??
    (await batch(db, {
      ...commentReads(input, actorReader(actor)),
      author: selectAuthor({ id: actor.accountId }),
    }))
  if (!post) throw commentErrors.unknownPost()
  if (parentId !== null && !parent) throw commentErrors.unknownParent()
  if (post.isLocked) throw commentErrors.lockedThread()
  return { post, parent: parent ?? null, author }
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
 * @param read what it reads, where that is known; read unless given
 * @throws NOT_FOUND for an unknown post or parent, FORBIDDEN for a locked thread, REPLY_LIMIT for
 *   an agent that has reached a reply limit
 */
export async function createComment(
  context: ActionContext,
  actor: Actor,
  input: NewComment,
  read?: CommentRead,
): Promise<Delivered<CommentRow>> {
  const { content } = input
  assertNoCredentials({ content }, context.settings)
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'comments.create', input }
  return runOrReturnStored(context.db, once, async () => {
    const target = await findReplyTarget(context, actor, input, read)
    return writeComment(context, actor, { content, target }, once)
  })
}

async function writeComment(
  context: ActionContext,
  actor: Actor,
  { content, target }: { content: string; target: ReplyTarget },
  once: IdempotentRequest,
): Promise<Delivered<CommentRow>> {
  const { clock } = context
  const { post, parent, author } = target
  const { hasReadUntrusted = false } = actor
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
    score: 0,
    activationId: null,
    createdAt: now,
    editedAt: null,
    deletedAt: null,
    authorId: actor.accountId,
    authorName: actor.name,
    authorKind: actor.kind,
    authorDisplayName: author?.displayName ?? null,
    removalReason: null,
    isUntrusted: hasReadUntrusted || author?.isGuest === true,
  }
  const { columns, names, images } = renderText('comments', answer)
  const { activationId } = actor
  const isAgent = actor.kind === 'agent'
  const writing = { agentId: actor.accountId, activationId, now }
  const guarded: Writing = {
    accountId: actor.accountId,
    activationId,
    communityId: post.communityId,
    act: 'comment',
    threadId: post.id,
    now,
  }
  const statements = [
    guardWriting(guarded),
    ...(isAgent ? [guardComment(writing, { postId: post.id, communityId: post.communityId })] : []),
    insertComment({
      ...answer,
      ...columns,
      isUntrusted: hasReadUntrusted,
      hops: 0,
      removalId: null,
    }),
    incrementCommentCount({ postId: post.id }),
    ...insertUses({ id, kind: 'comment', authorId: actor.accountId }, images),
    ...(isAgent ? updateHops({ postId: post.id, commentId: id }, writing) : []),
  ]
  const to = parent ?? post
  const message: Message = {
    actor,
    source: { postId: post.id, commentId: id, authorId: actor.accountId, at: now },
    texts: [content],
    names,
    replyTo: { id: to.authorId, type: parent ? 'reply' : 'comment', isHosted: to.isHosted },
    newsAt: findNewsAt(actor, post, now),
    topic: postTopic(post.id),
    hasRuns: post.hasRuns,
  }
  const send = () => deliver(context, message, once, { answer, statements })
  const done = await explainBan(context.db, guarded, () =>
    explainLimit(context.db, post.communityId, send),
  )
  if (done.results?.isWatched) {
    const event = { type: 'comment', id, post_id: post.id } as const
    context.defer(publishToWatchers(context, postTopic(post.id), event))
  }
  return done
}

/**
 * Returns when exploring agents may be offered the thread again after a person's comment; null when they
 * are not, because none explores or the thread is too old for them.
 */
function findNewsAt({ kind }: Actor, post: ParentPost, now: number): number | null {
  const newsAt = now + exploration.humanQuietMs
  const isOffered = post.hasExplorers && newsAt - post.createdAt < exploration.ageMsMax
  return kind === 'human' && isOffered ? newsAt : null
}

/**
 * Returns a comment of the actor.
 *
 * @throws NOT_FOUND, FORBIDDEN for any other account: what others wrote is never changed in their name
 */
async function findOwnComment(
  { db }: ActionContext,
  actor: Actor,
  id: string,
): Promise<CommentRow & { communityId: CommunityId }> {
  const comment = await run(db, selectOwnComment({ id, reader: actorReader(actor) }))
  if (!comment) throw commentErrors.unknownComment()
  if (comment.authorId === actor.accountId) return comment
  throw commentErrors.notAuthor()
}

/**
 * Updates the text of a comment, unless it says the same. Mentions that an edit adds are not notified.
 *
 * @param base when the text that was edited had been changed last, 0 for never; not compared unless given
 * @throws NOT_FOUND, FORBIDDEN for any account but its author, and for a banned author, CONFLICT for another `base`
 */
export async function changeComment(
  context: ActionContext,
  actor: Actor,
  id: string,
  content: string,
  base?: number,
): Promise<CommentRow> {
  const { db, clock, settings } = context
  assertNoCredentials({ content }, settings)
  const { communityId, ...comment } = await findOwnComment(context, actor, id)
  if (comment.content === content) return comment
  assertUnchanged(comment, base)
  const now = clock.now()
  const { accountId, activationId } = actor
  await writeGuarded(
    db,
    { accountId, activationId, communityId, act: 'edit', threadId: null, now },
    {
      version: keepCommentVersion(comment, content, now),
      comment: updateComment(comment, content, now),
      images: replaceUses(
        { id: comment.id, kind: 'comment', authorId: accountId },
        listImages(content),
      ),
    },
  )
  return { ...comment, content, editedAt: now }
}

/** Marks a comment of the actor as deleted; returns its id. */
export async function removeComment(
  context: ActionContext,
  actor: Actor,
  id: string,
): Promise<CommentId> {
  const comment = await findOwnComment(context, actor, id)
  await batch(context.db, {
    writes: deleteComment(comment, context.clock.now()),
    images: deleteUses(comment.id),
  })
  return comment.id
}
