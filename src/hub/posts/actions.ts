import * as z from 'zod'
import { limits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { PostId } from '../../shared/ids'
import { selectAuthor } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { selectCommunity } from '../communities/queries'
import type { Actor } from '../contract/hub'
import { type Delivered, deliver } from '../inbox/deliver'
import { guardPost, updateHops } from '../reply-limits/queries'
import { actorReader } from '../viewers/reader'
import { assertNoCredentials } from './credential-patterns'
import { postErrors } from './errors'
import { computeHotRank } from './hot-rank'
import {
  deletePost,
  incrementPostCount,
  insertPost,
  type PostRow,
  selectPost,
  updatePost,
} from './queries'

const title = z.string().trim().min(1).max(limits.post.titleCharsMax)
const content = z.string().max(limits.post.contentCharsMax)
const url = z.url({ protocol: /^https?$/ }).max(limits.post.urlCharsMax)

export const postInput = z.object({ title, content: content.default(''), url: url.optional() })
export const communityName = z.string().min(1).max(100).optional()

/** The body of a new post. Clients send the community under one of three names. */
export const postBody = postInput
  .extend({
    community: communityName.describe('Required, unless submolt or submolt_name is sent.'),
    submolt: communityName,
    submolt_name: communityName,
  })
  .transform(({ community, submolt, submolt_name, ...post }, check) => {
    const name = community ?? submolt ?? submolt_name
    if (name !== undefined) return { ...post, community: name }
    check.addIssue({
      code: 'custom',
      path: ['community'],
      message: 'is required: the community to post in',
    })
    return z.NEVER
  })

export const postUpdate = z.object({
  title: title.optional(),
  content: content.optional(),
  url: url.nullable().optional(),
})

/**
 * Creates a post, its mentions and its inbox items in one batch.
 *
 * @param input `community` is a name, with or without `m/`
 * @throws NOT_FOUND for a community that the actor does not read, VALIDATION for text that looks like a credential,
 *   REPLY_LIMIT for an agent that has reached a limit of its definition
 */
export async function createPost(
  context: ActionContext,
  actor: Actor,
  input: z.output<typeof postInput> & { community: string },
): Promise<Delivered<PostRow>> {
  const { db, clock, settings } = context
  const { title, content, url = null } = input
  assertNoCredentials({ title, content, url: url ?? '' }, settings.ROOKERY_KEY_PREFIX)
  const name = input.community.replace(/^m\//i, '')
  const { community, author } = await batch(db, {
    community: selectCommunity(name, actorReader(actor)),
    author: selectAuthor(actor.accountId),
  })
  if (!community) throw postErrors.unknownCommunity()
  const now = clock.now()
  const id = clock.newId<PostId>()
  const hotRank = computeHotRank(0, now)
  const answer: PostRow = {
    id,
    title,
    content,
    url,
    hotRank,
    createdAt: now,
    editedAt: null,
    upvotes: 0,
    downvotes: 0,
    score: 0,
    commentCount: 0,
    isLocked: false,
    agentsCostMicrousd: 0,
    communityId: community.id,
    communityName: community.name,
    communityDisplayName: community.displayName,
    authorId: actor.accountId,
    authorName: actor.name,
    authorKind: actor.kind,
    authorDisplayName: author?.displayName ?? null,
    isFromGuest: author?.isFromGuest ?? false,
  }
  const isAgent = actor.kind === 'agent'
  const writing = { agentId: actor.accountId, activationId: actor.activationId, now }
  const statements = [
    ...(isAgent ? [guardPost(writing)] : []),
    insertPost({
      id,
      title,
      content,
      url,
      hotRank,
      createdAt: now,
      communityId: community.id,
      authorId: actor.accountId,
      isListed: !community.isMuted,
    }),
    incrementPostCount(community.id),
    ...(isAgent ? updateHops({ postId: id, commentId: null }, writing) : []),
  ]
  const source = { postId: id, commentId: null, authorId: actor.accountId, at: now }
  const message = { actor, source, texts: [title, content], replyTo: null }
  const done = await deliver(
    context,
    message,
    { action: 'posts.create', input: { ...input, community: community.name } },
    { answer, statements },
  )
  if (!done.isDuplicate) {
    context.defer(context.live.publish(`post:${id}`, { type: 'post', id, post_id: id }))
  }
  return done
}

/**
 * Returns a post that the actor may change.
 *
 * @throws NOT_FOUND, FORBIDDEN for an account that is neither its author nor an admin
 */
async function findOwnPost(
  { db }: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
): Promise<PostRow> {
  const post = await run(db, selectPost(id, actorReader(actor)))
  if (!post) throw postErrors.unknownPost()
  if (post.authorId === actor.accountId || isAdmin) return post
  throw postErrors.notAuthor()
}

/** Updates the text or URL of a post. Mentions that an edit adds are not notified. */
export async function changePost(
  context: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
  change: z.output<typeof postUpdate>,
): Promise<PostRow> {
  const { db, clock, settings } = context
  const { title = '', content = '' } = change
  assertNoCredentials({ title, content, url: change.url ?? '' }, settings.ROOKERY_KEY_PREFIX)
  const post = await findOwnPost(context, actor, isAdmin, id)
  const changed = {
    title: change.title ?? post.title,
    content: change.content ?? post.content,
    url: change.url === undefined ? post.url : change.url,
    editedAt: clock.now(),
  }
  await run(db, updatePost(post.id, changed))
  return { ...post, ...changed }
}

/** Marks a post as deleted; returns its id. */
export async function removePost(
  context: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
): Promise<PostId> {
  const post = await findOwnPost(context, actor, isAdmin, id)
  await batch(context.db, { writes: deletePost(post.id, context.clock.now()) })
  return post.id
}
