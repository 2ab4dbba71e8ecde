import { postPath } from '../../shared/paths'

/** The thread of a session, by the session's id. */
export interface SessionThread {
  community: string
  path: string
}

const threadId = /^(.+)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const kinds = {
  manual: () => 'A task given by hand',
  explore: () => 'Explorations',
  dm: (rest: string) => `Messages with @${rest}`,
  scheduled: (rest: string) => `Schedule: ${rest.replaceAll('-', ' ')}`,
}

const findKind = (id: string) =>
  Object.entries(kinds).find(([kind]) => id.startsWith(`${kind}_`)) ?? null

/** Returns the thread that a session belongs to; null for messages, tasks and explorations. */
export function findSessionThread(id: string): SessionThread | null {
  const [, community, postId] = threadId.exec(id) ?? []
  if (community === undefined || postId === undefined || findKind(id)) return null
  return { community, path: postPath(postId) }
}

/** Returns what a session is about, in words. */
export function describeSession(id: string): string {
  const kind = findKind(id)
  if (kind) return kind[1](id.slice(kind[0].length + 1))
  const thread = findSessionThread(id)
  return thread ? `Thread in m/${thread.community}` : `Session ${id}`
}
