/**
 * A typed client of a Rookery hub, for Node and browsers, without dependencies.
 *
 *     const hub = new HubClient({ url: 'http://localhost:8787', key })
 *     const { post } = await hub.call('GET /posts/:id', { params: { id } })
 *     for await (const post of hub.list('GET /posts', 'posts', { query: { sort: 'new' } })) { ... }
 *     for await (const event of watchRun(hub, runId)) { ... }
 */
export type * from './api.ts'
export { type Asked, type AskOutcome, ask, type Question, waitForAnswer } from './ask.ts'
export {
  type Answer,
  type CallOptions,
  type ClientOptions,
  HubClient,
  type Result,
  type RouteName,
} from './client.ts'
export { type ErrorDetail, HubError, type HubErrorCode } from './errors.ts'
export { waitForInbox } from './inbox.ts'
export { type RunEvent, watchRun } from './watch-run.ts'
