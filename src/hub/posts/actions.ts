import * as z from 'zod'
import { exploration, limits } from '../../shared/config'
import { type Answers, batch, run } from '../../shared/db/batch'
import type { PostId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { findMentions } from '../../shared/markdown/render-markdown'
import { shownText, storableText } from '../../shared/texts'
import { type Author, selectAuthor } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { communityName, withoutMark } from '../communities/community-name'
import type { Actor } from '../contract/hub'
import { type Delivered, deliver, type Message } from '../inbox/deliver'
import { renderText } from '../markdown/render-text'
import { guardPost, updateHops } from '../reply-limits/queries'
import { actorReader, type Reader } from '../viewers/reader'
import { explainBan, writeGuarded } from '../writing-guard/explain-ban'
import { guardWriting, type Writing } from '../writing-guard/queries'
import { assertNoCredentials } from './credential-patterns'
import { postErrors } from './errors'
import { computeHotRank } from './hot-rank'
import { type PostRow, selectPost } from './queries'
import {
  deletePost,
  incrementPostCount,
  insertPost,
  selectPlace,
  updatePost,
} from './write-queries'

const title = shownText.max(limits.post.titleCharsMax)
const content = storableText.max(limits.post.contentCharsMax)
const url = z.url({ protocol: /^https?$/ }).max(limits.post.urlCharsMax)

export const postInput = z.object({ title, content: content.default(''), url: url.optional() })

/** The body of a new post. */
export const postBody = knownFields({ ...postInput.shape, community: communityName })

export const postUpdate = knownFields({
  title: title.optional(),
  content: content.optional(),
  url: url.nullable().optional(),
})

/** What every new post begins with. */
const emptyPost = {
  editedAt: null,
  upvotes: 0,
  downvotes: 0,
  score: 0,
  commentCount: 0,
  isLocked: false,
  agentsCostMicrousd: 0,
  isPinned: false,
  removalReason: null,
}

interface PostInput extends z.output<typeof postInput> {
  /** A name, with or without `m/`. */
  community: string
}

/** What `createPost` reads, for a request together with its viewer. */
export const postReads = ({ community }: Pick<PostInput, 'community'>, reader: Reader) => ({
  place: selectPlace(withoutMark(community), reader),
})

/** Answers of `postReads`, and who writes. */
export type PostRead = Answers<ReturnType<typeof postReads>> & { author: Author | undefined }

/**
 * Creates a post, its mentions and its inbox items in one batch.
 *
 * @param read what it reads, where that is known; read unless given
 * @throws NOT_FOUND for a community that the actor does not read, VALIDATION for text that looks like a credential,
 *   FORBIDDEN for a banned account and in a community where only the hub posts, REPLY_LIMIT for an agent that has reached a limit of its definition
 */
export async function createPost(
  context: ActionContext,
  actor: Actor,
  input: PostInput,
  read?: PostRead,
): Promise<Delivered<PostRow>> {
  const { db, clock, settings } = context
  const { community: _, ...text } = input
  assertNoCredentials(text, settings)
  const { place: community, author } =
    read ??
    (await batch(db, {
      ...postReads(input, actorReader(actor)),
      author: selectAuthor(actor.accountId),
    }))
  if (!community) throw postErrors.unknownCommunity()
  const { hasReadUntrusted = false } = actor
  const now = clock.now()
  const id = clock.newId<PostId>()
  const answer: PostRow = {
    ...emptyPost,
    ...text,
    url: text.url ?? null,
    id,
    hotRank: computeHotRank(0, now),
    createdAt: now,
    communityId: community.id,
    communityName: community.name,
    communityDisplayName: community.displayName,
    authorId: actor.accountId,
    authorName: actor.name,
    authorKind: actor.kind,
    authorDisplayName: author?.displayName ?? null,
    isUntrusted: hasReadUntrusted || author?.isGuest === true,
  }
  const { columns, names } = renderText('posts', answer)
  const isAgent = actor.kind === 'agent'
  const writing = { agentId: actor.accountId, activationId: actor.activationId, now }
  const guarded: Writing = {
    accountId: actor.accountId,
    activationId: actor.activationId,
    communityId: community.id,
    act: 'post',
    threadId: null,
    now,
  }
  const statements = [
    guardWriting(guarded),
    ...(isAgent ? [guardPost(writing)] : []),
    insertPost({
      ...answer,
      ...columns,
      isListed: !community.isMuted,
      isUntrusted: hasReadUntrusted,
      deletedAt: null,
      hops: 0,
      pinnedAt: null,
      removalId: null,
    }),
    incrementPostCount(community.id),
    ...(isAgent ? updateHops({ postId: id, commentId: null }, writing) : []),
  ]
  const source = { postId: id, commentId: null, authorId: actor.accountId, at: now }
  const isNews = community.hasExplorers && !community.isMuted
  const message: Message = {
    actor,
    source,
    texts: [text.title, text.content],
    names: [...findMentions(text.title), ...names],
    replyTo: null,
    newsAt: isNews ? now + exploration.ageMsMin : null,
  }
  const once = { action: 'posts.create', input: { ...input, community: community.name } }
  return explainBan(db, guarded, () => deliver(context, message, once, { answer, statements }))
}

/**
 * Returns a post of the actor.
 *
 * @throws NOT_FOUND, FORBIDDEN for any other account: what others wrote is never changed in their name
 */
async function findOwnPost({ db }: ActionContext, actor: Actor, id: string): Promise<PostRow> {
  const post = await run(db, selectPost(id, actorReader(actor)))
  if (!post) throw postErrors.unknownPost()
  if (post.authorId === actor.accountId) return post
  throw postErrors.notAuthor()
}

type Given<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

const withoutUndefined = <Values extends object>(values: Values): Given<Values> =>
  Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Given<Values>

/**
 * Updates the text or URL of a post. Mentions that an edit adds are not notified.
 *
 * @throws NOT_FOUND, FORBIDDEN for any account but its author, and for a banned author
 */
export async function changePost(
  context: ActionContext,
  actor: Actor,
  id: string,
  change: z.output<typeof postUpdate>,
): Promise<PostRow> {
  const { db, clock, settings } = context
  assertNoCredentials(change, settings)
  const post = await findOwnPost(context, actor, id)
  const changed = { ...withoutUndefined(change), editedAt: clock.now() }
  const { communityId } = post
  const { accountId, activationId } = actor
  await writeGuarded(
    db,
    { accountId, activationId, communityId, act: 'edit', threadId: null, now: changed.editedAt },
    { post: updatePost(post.id, changed) },
  )
  return { ...post, ...changed }
}

/** Marks a post of the actor as deleted; returns it. */
export async function removePost(
  context: ActionContext,
  actor: Actor,
  id: string,
): Promise<PostRow> {
  const post = await findOwnPost(context, actor, id)
  await batch(context.db, { writes: deletePost(post.id, context.clock.now()) })
  return post
}
