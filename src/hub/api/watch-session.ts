import { liveLimits } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError } from '../../shared/errors'
import type { CommunityId, PostId } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import type { WatchSession } from '../contract/hub'
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
export async function changeSubscription(
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
export async function watchSession(
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
