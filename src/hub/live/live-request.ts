import type { LiveSnapshot } from '../contract/live-event'

/** Returns the upgrade request for a live object, with topic and snapshot in the query. */
export function toLiveRequest(topic: string, snapshot: LiveSnapshot, request: Request): Request {
  const query = new URLSearchParams({ topic, known: JSON.stringify(snapshot) })
  return new Request(`https://live.invalid/?${query}`, request)
}

/** Returns topic and snapshot of a request made by `toLiveRequest`. */
export function readLiveRequest(request: Request): { topic: string; known: LiveSnapshot } {
  const query = new URL(request.url).searchParams
  return { topic: query.get('topic') ?? '', known: JSON.parse(query.get('known') ?? 'null') }
}
