import { limits, liveLimits } from '../../shared/config'
import { decodeKeyset, splitPage } from '../../shared/cursor'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { CommunityId, PostId } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import { selectCommunity } from '../communities/queries'
import type { ResourceApi, RunSummary, WatchSession } from '../contract/hub'
import {
  type LiveEvent,
  type LiveSnapshot,
  postTopic,
  type SubscriptionList,
  sessionTopic,
  toWatcherTags,
} from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { liveErrors } from '../live/live-request'
import { openSocket } from '../live/open-socket'
import { watchTopic } from '../live/queries'
import { selectPosts, selectShownPost, toThreadPost } from '../posts/queries'
import { activationRequestErrors } from '../runs/actions'
import { selectActivation, type TracedActivation } from '../runs/list-queries'
import { actorReader } from '../viewers/reader'
import { selectAccountNames, selectCommunityNames } from './resource-queries'

const threadList = 'threads of MCP'

/**
 * Creates the hub's API for programs that read and watch over MCP. Every read is one D1 round trip.
 *
 * @param open creates the context of one call, with its own `Db`
 */
export const createResourceApi = (open: () => ActionContext): ResourceApi => ({
  listThreads: async (actor, { cursor, limit }) => {
    const list = {
      reader: actorReader(actor),
      sort: 'new' as const,
      limit: limit + 1,
      cursor: decodeKeyset(threadList, cursor),
    }
    const rows = await run(open().db, selectPosts(list))
    const { page, next } = splitPage(rows, limit, threadList, (row) => [row.createdAt, row.id])
    return { posts: page.map(toThreadPost), next }
  },

  readCommunityPage: async (actor, name, postsMax) => {
    const reader = actorReader(actor)
    const list = { reader, sort: 'new' as const, community: name, cursor: null }
    const { community, posts } = await batch(open().db, {
      community: selectCommunity({ name, reader }),
      posts: selectPosts({ ...list, limit: Math.min(postsMax, limits.page.postsMax) }),
    })
    if (!community) throw notFound('community', 'Check the name of the community.')
    const { displayName, description, visibility, postCount } = community
    const about = { name: community.name, displayName, description, visibility, postCount }
    return { ...about, posts: posts.map(toThreadPost) }
  },

  readRun: async (actor, id) => {
    const row = await run(open().db, selectActivation({ id, reader: actorReader(actor) }))
    if (!row) throw activationRequestErrors.notFound()
    return toRunSummary(row)
  },

  listNames: async (actor, kind, { prefix, limit }) => {
    const names =
      kind === 'account'
        ? selectAccountNames({ prefix, limit })
        : selectCommunityNames({ prefix, limit, reader: actorReader(actor) })
    return (await run(open().db, names)).map(({ name }) => name)
  },

  subscribeToThread: async (actor, session, postId) => {
    const context = open()
    const post = await run(context.db, selectShownPost({ id: postId, reader: actorReader(actor) }))
    if (!post) throw notFound('post')
    await changeSubscription(context, session, { postId: post.id, isWanted: true })
  },

  unsubscribeFromThread: (session, postId) =>
    changeSubscription(open(), session, { postId, isWanted: false }),

  watchThreads: (actor, session, listeners) => {
    const context = open()
    const reader = actorReader(actor)
    const selectPost = (id: PostId) => selectShownPost({ id, reader })
    return watchSession(context, session, { ...listeners, selectPost })
  },
})

function toRunSummary(row: TracedActivation): RunSummary {
  const { id, task, state, outcome, model, startedAt, finishedAt, iterations } = row
  const { postId, postTitle, tools, costMicrousd, isPriced, inputTokens, outputTokens } = row
  return {
    id,
    task,
    state,
    outcome,
    model,
    startedAt,
    finishedAt,
    iterations,
    tools,
    costMicrousd,
    isPriced,
    tokens: inputTokens + outputTokens,
    agent: row.agentName,
    error: row.error?.message ?? null,
    thread: postId === null ? null : { id: postId, title: postTitle ?? '' },
  }
}

const sessionErrors = {
  tooManyThreads: () =>
    new AppError(
      'RATE_LIMITED',
      `This session is subscribed to ${liveLimits.threadsPerSessionMax} threads already.`,
      { hint: 'Unsubscribe from a thread, or open another session.' },
    ),
  refused: (reason: string) => new AppError('UNAVAILABLE', reason),
}

/** Another key of the account has other sessions, so that a session ends with its key. */
async function findTopic({ accountId, keyId, id }: WatchSession): Promise<string> {
  const [owner, session] = await Promise.all([
    sha256(accountId),
    sha256(JSON.stringify([accountId, keyId, id])),
  ])
  return sessionTopic(owner, session)
}

/** Adds a thread to a session, or removes it. Throws RATE_LIMITED when it has as many as it may. */
async function changeSubscription(
  { live }: ActionContext,
  session: WatchSession,
  { postId, isWanted }: { postId: PostId; isWanted: boolean },
): Promise<void> {
  if (!live.changeSubscription) throw liveErrors.unavailable()
  const isDone = await live.changeSubscription(await findTopic(session), postId, isWanted)
  if (!isDone) throw sessionErrors.tooManyThreads()
}

interface Watching {
  /** Selects a thread when the session's account reads it. */
  selectPost(id: PostId): Statement<{ communityId: CommunityId } | undefined>
  onUpdate(postId: PostId): void
  /** Called once, when any of the sockets is closed by the hub. */
  onEnd(): void
}

/**
 * Watches the threads of a session through the sockets that pages use, so that what ends those of a page ends these:
 * a revoked key, a ban, a community that was left.
 *
 * @returns what ends it
 */
async function watchSession(
  context: ActionContext,
  session: WatchSession,
  { selectPost, onUpdate, onEnd }: Watching,
): Promise<() => void> {
  const account = { id: session.accountId, keyId: session.keyId }
  const watched = new Map<PostId, WebSocket>()
  let isOver = false
  const stop = () => {
    isOver = true
    for (const socket of [control, ...watched.values()]) close(socket)
  }
  const end = () => {
    if (isOver) return
    stop()
    onEnd()
  }
  const follow = async (ids: PostId[]) => {
    for (const [id, socket] of watched) {
      if (ids.includes(id)) continue
      watched.delete(id)
      close(socket)
    }
    const added = ids.filter((id) => !watched.has(id))
    if (added.length === 0 || isOver) return
    const now = context.clock.now()
    const posts = await batch(context.db, {
      ...Object.fromEntries(added.map((id) => [`watch ${id}`, watchTopic(postTopic(id), now)])),
      ...Object.fromEntries(added.map((id) => [id, selectPost(id)])),
    })
    for (const id of added) {
      const post = posts[id] as { communityId: CommunityId } | undefined
      // It was deleted meanwhile, or is no longer for this account.
      if (!post) continue
      const socket = await connect(
        context,
        postTopic(id),
        toWatcherTags(account, post.communityId),
        { comments: 0, working: [] },
      )
      watched.set(id, socket)
      socket.addEventListener('message', ({ data }) => {
        if (isNews(data)) onUpdate(id)
      })
      // One that was closed because the session left the thread is not in the list.
      socket.addEventListener('close', () => {
        if (watched.get(id) === socket) end()
      })
      socket.accept()
      if (isOver) close(socket)
    }
  }
  const control = await connect(
    context,
    await findTopic(session),
    toWatcherTags(account, null),
    null,
  )
  control.addEventListener('close', end)
  let following: Promise<void> = Promise.resolve()
  control.addEventListener('message', ({ data }) => {
    const { post_ids: ids } = JSON.parse(String(data)) as SubscriptionList
    following = following.then(() => follow(ids as PostId[])).catch(end)
  })
  control.accept()
  return stop
}

/** Whether an event changes what the thread shows: what an agent does right now is not part of it. */
const isNews = (data: unknown): boolean => {
  const { type } = JSON.parse(String(data)) as LiveEvent
  return type === 'comment' || type === 'changed'
}

/** Opens a socket on a topic. Throws RATE_LIMITED, UNAVAILABLE. */
async function connect(
  context: ActionContext,
  topic: string,
  tags: string[],
  snapshot: LiveSnapshot | null,
): Promise<WebSocket> {
  const { live } = context
  if (!live.connect) throw liveErrors.unavailable()
  const { connect } = live
  const upgrade = new Request('https://live.invalid/', { headers: { upgrade: 'websocket' } })
  const answer = await openSocket(context, tags, () => connect(topic, snapshot, upgrade, tags))
  if (!answer.webSocket) throw sessionErrors.refused(await answer.text())
  return answer.webSocket
}

function close(socket: WebSocket): void {
  try {
    socket.close(1000)
  } catch {
    // The socket is closed.
  }
}
