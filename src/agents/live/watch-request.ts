import type { ActivationId } from '../../shared/ids'
import type { WatchRequest } from '../contract/agents'

const views = ['full', 'thread', 'outline'] as const

/** Returns an upgrade request for the agent's object, with the watched activation in the query. */
export function toWatchRequest(watched: WatchRequest, request: Request): Request {
  const { activationId, after, view, knowsOwnAccount = false, tags = [], until } = watched
  const query = new URLSearchParams({
    activationId,
    after: String(after),
    view,
    own: knowsOwnAccount ? '1' : '',
    tags: JSON.stringify(tags),
    until: String(until ?? ''),
  })
  return new Request(`https://agent.invalid/?${query}`, request)
}

/** Returns the watched activation from a request that `toWatchRequest` made. */
export function readWatchRequest(request: Request): WatchRequest {
  const query = new URL(request.url).searchParams
  const until = Number(query.get('until'))
  return {
    activationId: (query.get('activationId') ?? '') as ActivationId,
    after: Number(query.get('after')) || 0,
    view: views.find((view) => view === query.get('view')) ?? 'outline',
    knowsOwnAccount: query.get('own') === '1',
    tags: JSON.parse(query.get('tags') ?? '[]'),
    ...(until > 0 && { until }),
  }
}
