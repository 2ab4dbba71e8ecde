import { DurableObject } from 'cloudflare:workers'
import { liveLimits } from '../../shared/config'
import { ClosedTags } from '../contract/hub'
import {
  closeForStop,
  closeSender,
  type Hello,
  hasTooManySockets,
  type LiveEvent,
  type LiveSnapshot,
  readSessionOwner,
  type SubscriptionList,
  watcherEndedCode,
} from '../contract/live-event'
import { readLiveRequest, upgradeErrors } from './live-request'

/** Limits of `RecentEvents`; times are in milliseconds. */
interface RecentLimits {
  recentEventsMax: number
  recentMs: number
  workingMsMax: number
}

interface RecentEntry {
  topic: string
  event: LiveEvent
  /** Milliseconds since the Unix epoch, of the same clock as `now` in `since`. */
  at: number
}

/**
 * Keeps the last events of many topics in bounded memory: the newest of each activation, and the newest
 * comment of each topic. The current time is an argument.
 */
export class RecentEvents {
  readonly #limits: RecentLimits
  /** In the order of arrival. */
  readonly #entries = new Map<string, RecentEntry>()

  constructor(limits: RecentLimits) {
    this.#limits = limits
  }

  /** Adds an event, and evicts old events. */
  add(topic: string, event: LiveEvent, now: number): void {
    const key = `${topic} ${event.type === 'working' ? event.activation_id : event.type}`
    this.#entries.delete(key)
    this.#entries.set(key, { topic, event, at: now })
    for (const [oldest, { at }] of this.#entries) {
      const isFull = this.#entries.size > this.#limits.recentEventsMax
      if (!isFull && now - at <= this.#limits.workingMsMax) break
      this.#entries.delete(oldest)
    }
  }

  /**
   * Returns the events of a topic that a watcher with this snapshot needs, oldest first: those of the last
   * `recentMs`, which may be newer than the snapshot, and the current actions of running activations.
   */
  since(topic: string, snapshot: LiveSnapshot, now: number): LiveEvent[] {
    const working = 'working' in snapshot ? snapshot.working : []
    const running = new Set(working.map((each) => each.activation_id))
    return [...this.#entries.values()]
      .filter((each) => each.topic === topic)
      .filter(({ event, at }) => {
        if (now - at <= this.#limits.recentMs) return true
        return event.type === 'working' && running.has(event.activation_id)
      })
      .map(({ event }) => event)
  }
}

/**
 * Sends the events of a topic to the open sockets of that topic. One of a fixed number of objects, each
 * with many topics such as `post:<id>`. Of events it stores nothing: the sockets hibernate with their topic as tag,
 * and only events that a new watcher could miss are kept in memory. It stores which threads a session of MCP subscribes
 * to, because such a session has no connection that lasts.
 */
export class LiveObject extends DurableObject {
  #recent = new RecentEvents(liveLimits)
  readonly #closed = new ClosedTags(liveLimits.closedMs)
  readonly #sessions = new SessionStore(this.ctx.storage.sql)

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env as never)
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'))
  }

  /**
   * Sends an event to all watchers of the topic. Called by the hub only.
   *
   * @returns whether anybody watches any topic of this object
   */
  publish(topic: string, event: LiveEvent): boolean {
    this.#recent.add(topic, event, Date.now())
    const sockets = this.ctx.getWebSockets(topic)
    if (sockets.length === 0) return this.ctx.getWebSockets().length > 0
    const text = JSON.stringify(event)
    for (const socket of sockets) send(socket, text)
    return true
  }

  /**
   * Adds a thread to those of a session, or removes it. Called by the hub only.
   *
   * @returns false: the session has as many as it may
   */
  async changeSubscription(topic: string, postId: string, isWanted: boolean): Promise<boolean> {
    const owner = readSessionOwner(topic)
    if (owner === null) return false
    const change = { topic, owner, postId, isWanted }
    const isDone = this.#sessions.change(change, Date.now())
    for (const socket of this.ctx.getWebSockets(topic)) this.#sendSubscriptions(socket, topic)
    if ((await this.ctx.storage.getAlarm()) === null) {
      await this.ctx.storage.setAlarm(Date.now() + liveLimits.sessionMs)
    }
    return isDone
  }

  /** Deletes sessions that were not used for long. */
  override async alarm(): Promise<void> {
    const isEmpty = this.#sessions.deleteUnused(Date.now() - liveLimits.sessionMs)
    if (!isEmpty) await this.ctx.storage.setAlarm(Date.now() + liveLimits.sessionMs)
  }

  #sendSubscriptions(socket: WebSocket, topic: string): void {
    const list: SubscriptionList = {
      type: 'subscriptions',
      post_ids: this.#sessions.use(topic, Date.now()),
    }
    send(socket, JSON.stringify(list))
  }

  /** Returns how many sockets of an account or address are open. Called by the hub only. */
  countSockets(ownerTag: string): number {
    return this.ctx.getWebSockets(ownerTag).length
  }

  /** Closes the sockets with any of the tags of `toWatcherTags`. Called by the hub only. */
  disconnect(tags: string[]): void {
    this.#closed.add(tags, Date.now())
    for (const socket of tags.flatMap((tag) => this.ctx.getWebSockets(tag))) {
      try {
        socket.close(watcherEndedCode, 'access ended')
      } catch {
        // The socket is closed.
      }
    }
  }

  /** Closes all sockets before the hub stops. Called by the hub only. */
  announceStop(): void {
    for (const socket of this.ctx.getWebSockets()) closeForStop(socket)
  }

  /** Accepts an upgrade request made by `toLiveRequest`. */
  override async fetch(request: Request): Promise<Response> {
    if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
      return new Response(upgradeErrors.notWebSocket, {
        status: 426,
        headers: { upgrade: 'websocket' },
      })
    }
    const { topic, known: snapshot, tags } = readLiveRequest(request)
    if (this.#closed.has(tags, Date.now())) {
      return new Response(upgradeErrors.accessChanged, { status: 503 })
    }
    if (hasTooManySockets(this.ctx, tags)) {
      return new Response(upgradeErrors.tooManyOfOwner, { status: 429 })
    }
    if (this.#isFull(topic)) {
      return new Response(upgradeErrors.tooManyWatchers, { status: 503 })
    }
    const { 0: client, 1: server } = new WebSocketPair()
    this.ctx.acceptWebSocket(server, [topic, ...tags])
    if (snapshot) this.#sendSnapshot(server, topic, snapshot)
    else this.#sendSubscriptions(server, topic)
    return new Response(null, { status: 101, webSocket: client })
  }

  /** Closes the socket of a watcher that sends: watchers only receive. */
  override webSocketMessage(socket: WebSocket): void {
    closeSender(socket)
  }

  override webSocketClose(socket: WebSocket, code: number): void {
    // 1005 and 1006 mean that there was no code; they must not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  #isFull(topic: string): boolean {
    return (
      this.ctx.getWebSockets(topic).length >= liveLimits.watchersPerTopicMax ||
      this.ctx.getWebSockets().length >= liveLimits.watchersPerObjectMax
    )
  }

  /**
   * Sends the snapshot, then recent events, so that no event between page load and socket is missed.
   * Everything committed before the upgrade read the database is in the snapshot. Events published
   * later are either still in memory (an object stays there for seconds after a call) and repeated here,
   * or arrive over the socket. A repeated event is harmless. Events are lost only when the object dies in
   * those milliseconds; the next event or reconnect then corrects the page.
   */
  #sendSnapshot(socket: WebSocket, topic: string, snapshot: LiveSnapshot): void {
    send(socket, JSON.stringify({ type: 'hello', ...snapshot } satisfies Hello))
    for (const event of this.#recent.since(topic, snapshot, Date.now())) {
      send(socket, JSON.stringify(event))
    }
  }
}

/** Sends a text. A closing socket throws, which is ignored: its watcher reconnects and reloads the page. */
function send(socket: WebSocket, text: string): void {
  try {
    socket.send(text)
  } catch {
    // The socket is closed.
  }
}

interface SubscriptionChange {
  /** Of the session. */
  topic: string
  /** Of the session's account. */
  owner: string
  postId: string
  /** False removes the thread. */
  isWanted: boolean
}

/** Stores which threads the sessions of MCP subscribe to. Times are milliseconds since the Unix epoch. */
class SessionStore {
  readonly #sql: SqlStorage
  #isReady = false

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** Returns false when the session has as many threads as it may. */
  change({ topic, owner, postId, isWanted }: SubscriptionChange, now: number): boolean {
    const before = this.use(topic, now).filter((id) => id !== postId)
    const next = isWanted ? [...before, postId] : before
    if (next.length > liveLimits.threadsPerSessionMax) return false
    if (next.length === 0) {
      this.#sql.exec('DELETE FROM sessions WHERE topic = ?', topic)
      return true
    }
    this.#sql.exec(
      `INSERT INTO sessions (topic, owner, post_ids, used_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (topic) DO UPDATE SET post_ids = excluded.post_ids`,
      topic,
      owner,
      JSON.stringify(next),
      now,
    )
    this.#sql.exec(
      `DELETE FROM sessions WHERE owner = ?1 AND topic NOT IN
        (SELECT topic FROM sessions WHERE owner = ?1 ORDER BY used_at DESC, rowid DESC LIMIT ?2)`,
      owner,
      liveLimits.sessionsPerAccountMax,
    )
    return true
  }

  /** Returns the threads of a session, and notes that it is in use. */
  use(topic: string, now: number): string[] {
    this.#prepare()
    const [session] = this.#sql
      .exec<{ post_ids: string }>(
        'UPDATE sessions SET used_at = ? WHERE topic = ? RETURNING post_ids',
        now,
        topic,
      )
      .toArray()
    return session ? (JSON.parse(session.post_ids) as string[]) : []
  }

  /** Returns whether no session is left. */
  deleteUnused(before: number): boolean {
    this.#prepare()
    this.#sql.exec('DELETE FROM sessions WHERE used_at < ?', before)
    return this.#sql.exec('SELECT 1 FROM sessions LIMIT 1').toArray().length === 0
  }

  /** Most objects never have a session. */
  #prepare(): void {
    if (this.#isReady) return
    this.#sql.exec(`CREATE TABLE IF NOT EXISTS sessions (topic TEXT PRIMARY KEY, owner TEXT NOT NULL,
      post_ids TEXT NOT NULL, used_at INTEGER NOT NULL)`)
    this.#isReady = true
  }
}
