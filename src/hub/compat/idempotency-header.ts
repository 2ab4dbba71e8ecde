import type { Context } from 'hono'
import type { HubEnv } from '../http/hub-env'

/** Gives a request the idempotency key under which its answer is stored. */
export function setIdempotencyKey(c: Context<HubEnv>, key: string): void {
  const headers = new Headers(c.req.raw.headers)
  headers.set('idempotency-key', key)
  c.req.raw = new Request(c.req.raw, { headers })
}
