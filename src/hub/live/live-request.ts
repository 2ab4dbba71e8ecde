import type { Known } from './live-event'

/** An upgrade as the live object wants it: the topic and what the database knows, in the query. */
export function toLiveRequest(topic: string, known: Known, request: Request): Request {
  const query = new URLSearchParams({ topic, known: JSON.stringify(known) })
  return new Request(`https://live.invalid/?${query}`, request)
}

export function readLiveRequest(request: Request): { topic: string; known: Known } {
  const query = new URL(request.url).searchParams
  return { topic: query.get('topic') ?? '', known: JSON.parse(query.get('known') ?? 'null') }
}
