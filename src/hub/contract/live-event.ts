import { liveLimits } from '../../shared/config'

/**
 * An event sent to the watchers of a thread, or of the feed. Delivery is best effort: a page that missed one
 * reloads what it shows.
 */
export type LiveEvent =
  /** A new post in the feed. */
  | { type: 'post'; id: string }
  | { type: 'comment'; id: string; post_id: string }
  /** A moderator removed, restored, locked or pinned something in the thread; pages read what it was. */
  | { type: 'changed'; post_id: string }
  | {
      type: 'working'
      activation_id: string
      agent: { id: string; name: string }
      /** Current action as text, such as "searching the hub"; null when the agent has stopped. */
      doing: string | null
      /** Milliseconds since the Unix epoch. */
      since: number
    }

/** State of what is watched in the database when its socket opens. */
export type LiveSnapshot = ThreadSnapshot | FeedSnapshot

/** The threads of a session, sent to its watchers when they connect and when it changes. */
export interface SubscriptionList {
  type: 'subscriptions'
  post_ids: string[]
}

interface FeedSnapshot {
  /** Id of the newest post; null for none. */
  newest: string | null
}

export interface ThreadSnapshot {
  /** Number of comments of the post. Times and ids of comments do not show which was committed last. */
  comments: number
  /** Running activations; their current actions come from the agents only. */
  working: { activation_id: string; agent: { id: string; name: string }; since: number }[]
}

/** The first message on a new socket. */
export type Hello = LiveSnapshot & { type: 'hello' }

/** The topic of all posts that everybody reads who reads this hub, but those of muted communities. */
export const feedTopic = 'feed'

/** Returns the topic of a thread. */
export const postTopic = (postId: string): string => `post:${postId}`

const sessionPrefix = 'session:'

/**
 * Returns the topic of the threads that programs of an account subscribe to with one key and session id. Both parts
 * are hashes, so that the object which stores it knows no account, key or session.
 */
export const sessionTopic = (owner: string, session: string): string =>
  `${sessionPrefix}${owner}:${session}`

/** Returns the hash of the account of a session's topic; null: it is another topic. */
export const readSessionOwner = (topic: string): string | null =>
  topic.startsWith(sessionPrefix) ? (topic.split(':')[1] ?? null) : null

/** Code with which a socket is closed whose watcher may read less than when it was opened. */
export const watcherEndedCode = 4403

/** Closes a socket because the hub is about to stop: 1001 of RFC 6455, "going away". Its owner connects again. */
export function closeForStop(socket: Pick<WebSocket, 'close'>): void {
  try {
    socket.close(1001, 'The hub is stopping.')
  } catch {
    // The socket is closed.
  }
}

/**
 * Tags of a watcher's socket: its account, the key or session that opened it, and the community of what it
 * watches, alone and with the account; without an account its address in the place of that.
 *
 * @param communityId null for what belongs to no community
 */
export const toWatcherTags = (
  watcher: { id: string; keyId: string | null } | { address: string },
  communityId: string | null,
): string[] => {
  const place = communityId === null ? [] : [communityTag(communityId)]
  if ('address' in watcher) return [addressTag(watcher.address), ...place]
  const { id, keyId } = watcher
  return [
    accountTag(id),
    ...(keyId === null ? [] : [keyTag(keyId)]),
    ...place,
    ...(communityId === null ? [] : [memberTag(communityId, id)]),
  ]
}

export const accountTag = (accountId: string): string => `account ${accountId}`
const addressTag = (address: string): string => `address ${address}`
export const keyTag = (keyId: string): string => `key ${keyId}`
/** Whether a tag is of an account, or of a key or session. */
export const isOfAccountOrKey = (tag: string): boolean => /^(account|key) /.test(tag)
export const communityTag = (communityId: string): string => `community ${communityId}`
/** Of what an account watches in a community. */
export const memberTag = (communityId: string, accountId: string): string =>
  `member ${communityId} ${accountId}`

/** Who a socket counts for. */
export interface SocketOwner {
  /** The tag of its account, or of an address for those without one. */
  tag: string
  /** Sockets that it may have on the whole hub. */
  max: number
}

/** Returns who a watcher's socket counts for; null: its tags name neither an account nor an address. */
export function findSocketOwner(tags: readonly string[]): SocketOwner | null {
  const tag = tags.find((each) => /^(account|address) /.test(each))
  if (tag === undefined) return null
  const { socketsPerAccountMax, socketsPerAddressMax } = liveLimits
  return { tag, max: tag.startsWith('account') ? socketsPerAccountMax : socketsPerAddressMax }
}

/** Whether who opens a socket with these tags has as many on one object as it may have on the whole hub. */
export function hasTooManySockets(
  sockets: Pick<DurableObjectState, 'getWebSockets'>,
  tags: readonly string[],
): boolean {
  const owner = findSocketOwner(tags)
  return owner !== null && sockets.getWebSockets(owner.tag).length >= owner.max
}

/** Closes the socket of a watcher that sent a message: each would wake the object, at no cost to its sender. */
export function closeSender(socket: Pick<WebSocket, 'close'>): void {
  try {
    socket.close(1008, 'watchers only receive')
  } catch {
    // The socket is closed.
  }
}
