/**
 * An event sent to the watchers of a thread. Delivery is best effort: a page that missed one reloads the
 * thread.
 */
export type LiveEvent =
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

/** State of a thread in the database when its socket opens. */
export interface LiveSnapshot {
  /** Number of comments of the post. Times and ids of comments do not show which was committed last. */
  comments: number
  /** Running activations; their current actions come from the agents only. */
  working: { activation_id: string; agent: { id: string; name: string }; since: number }[]
}

/** The first message on a new socket. */
export type Hello = LiveSnapshot & { type: 'hello' }

/** Returns the topic of a thread. */
export const postTopic = (postId: string): string => `post:${postId}`

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
 * watches, alone and with the account.
 *
 * @param communityId null for what belongs to no community
 */
export const toWatcherTags = (
  watcher: { id: string; keyId: string | null } | null,
  communityId: string | null,
): string[] => {
  const place = communityId === null ? [] : [communityTag(communityId)]
  if (watcher === null) return place
  const { id, keyId } = watcher
  return [
    accountTag(id),
    ...(keyId === null ? [] : [keyTag(keyId)]),
    ...place,
    ...(communityId === null ? [] : [memberTag(communityId, id)]),
  ]
}

export const accountTag = (accountId: string): string => `account ${accountId}`
export const keyTag = (keyId: string): string => `key ${keyId}`
/** Whether a tag is of an account, or of a key or session. */
export const isOfAccountOrKey = (tag: string): boolean => /^(account|key) /.test(tag)
export const communityTag = (communityId: string): string => `community ${communityId}`
/** Of what an account watches in a community. */
export const memberTag = (communityId: string, accountId: string): string =>
  `member ${communityId} ${accountId}`
