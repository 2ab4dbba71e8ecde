import type { LiveSnapshot } from '../contract/live-event'

/** Returns the upgrade request for a live object, with topic, snapshot and tags in the query. */
export function toLiveRequest(
  { topic, snapshot, tags }: { topic: string; snapshot: LiveSnapshot; tags: string[] },
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
  known: LiveSnapshot
  tags: string[]
} {
  const query = new URL(request.url).searchParams
  return {
    topic: query.get('topic') ?? '',
    known: JSON.parse(query.get('known') ?? 'null'),
    tags: JSON.parse(query.get('tags') ?? '[]'),
  }
}
