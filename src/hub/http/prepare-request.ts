import type { MiddlewareHandler } from 'hono'
import { createContext } from '../action-context'
import { setHeaders } from './answer-headers'
import type { HubDeps, HubEnv } from './hub-env'
import { keepBookmark } from './read-replicas'

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/

/**
 * Creates the context and the id of each request, and reports its cost in the `Server-Timing` header:
 * `total;dur=<ms>, d1;desc="round_trips=1 rows_read=27"`.
 */
export const prepareRequest =
  (deps: HubDeps): MiddlewareHandler<HubEnv> =>
  async (c, next) => {
    const startedAt = performance.now()
    const given = c.req.header('x-request-id') ?? ''
    const requestId = REQUEST_ID.test(given) ? given : deps.clock.newId()
    const isWrite = deps.settings.ROOKERY_READ_REPLICAS && c.req.method !== 'GET'
    const context = createContext(deps, (work) => c.executionCtx.waitUntil(work))
    c.set(
      'context',
      isWrite ? { ...context, db: context.db.openSession('first-primary') } : context,
    )
    c.set('requestId', requestId)
    await next()
    if (isWrite) keepBookmark(c)
    const { roundTrips, rowsRead } = context.db.cost
    setHeaders(c, {
      'x-request-id': requestId,
      'server-timing':
        `total;dur=${(performance.now() - startedAt).toFixed(1)}, ` +
        `d1;desc="round_trips=${roundTrips} rows_read=${rowsRead}"`,
    })
  }
