import { liveLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'
import type { LiveSnapshot, SocketOwner } from '../contract/live-event'

const describeOwner = (tag: string): string =>
  tag.startsWith('account') ? 'Your account' : 'Your address'

/** Errors of live connections, as users read them. */
export const liveErrors = {
  postNotFound: () => notFound('post'),
  activationNotFound: () => notFound('run'),
  tooManySockets: ({ tag, max }: SocketOwner) =>
    new AppError(
      'RATE_LIMITED',
      `${describeOwner(tag)} has ${max} live connections open already.`,
      {
        hint: 'Close pages of this hub that you do not need. Pages without a live connection still show what is new when they are reloaded.',
      },
    ),
  unavailable: () => new AppError('UNAVAILABLE', 'Live updates are not available on this hub.'),
}

/** Texts of refused upgrades. */
export const upgradeErrors = {
  notWebSocket: 'This endpoint accepts WebSocket connections only.',
  accessChanged: 'Access to this has just changed. Try again in a few seconds.',
  tooManyOfOwner:
    'Too many live connections are open. Close pages of this hub that you do not need.',
  tooManyWatchers: 'Too many open connections. Try again later.',
} as const

/** Returns the upgrade request for a live object, with topic, snapshot and tags in the query. */
export function toLiveRequest(
  { topic, snapshot, tags }: { topic: string; snapshot: LiveSnapshot | null; tags: string[] },
  request: Request,
): Request {
  const query = new URLSearchParams({
    topic,
    known: JSON.stringify(snapshot),
    tags: JSON.stringify(tags),
  })
  return new Request(`https://live.invalid/?${query}`, request)
}

/** Returns topic, snapshot and tags of a request made by `toLiveRequest`. */
export function readLiveRequest(request: Request): {
  topic: string
  known: LiveSnapshot | null
  tags: string[]
} {
  const query = new URL(request.url).searchParams
  return {
    topic: query.get('topic') ?? '',
    known: JSON.parse(query.get('known') ?? 'null'),
    tags: JSON.parse(query.get('tags') ?? '[]'),
  }
}

/**
 * Returns the name of the object that serves a topic: FNV-1a over its UTF-16 units, modulo the number of
 * objects.
 */
export function toLiveObjectName(topic: string): string {
  let hash = 0x811c9dc5
  for (let index = 0; index < topic.length; index++) {
    hash = Math.imul(hash ^ topic.charCodeAt(index), 0x01000193)
  }
  return nameOf((hash >>> 0) % liveLimits.objects)
}

export const nameOf = (index: number): string => `live-${index}`
