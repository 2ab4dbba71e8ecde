import type { Context } from 'hono'
import { run } from '../../shared/db/batch'
import { readCredential } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import type { Body } from './adapt-input'
import type { AdaptedRoute } from './adapted-route'
import { selectOwnVote } from './queries'

const votePath = /\/(post|comment)s\/([^/]+)\/(up|down)vote$/

/**
 * Returns the body of a vote that removes the same vote given before: existing clients vote twice for
 * that. A request with `value` or an idempotency key sets the vote, as everywhere else.
 */
export async function toggleVote(
  c: Context<HubEnv>,
  route: AdaptedRoute,
  body: Body | undefined,
): Promise<Body | undefined> {
  if (route.route.tag !== 'votes') return body
  if (body?.value !== undefined || c.req.header('idempotency-key')) return body
  const [, kind, id, direction] = votePath.exec(c.req.path) ?? []
  const credential = await readCredential(c)
  if (!credential || !id) return body
  const { db, clock } = c.var.context
  const of = { kind: kind === 'post' ? ('post' as const) : ('comment' as const), id }
  const own = await run(db, selectOwnVote(credential, clock.now(), of))
  const value = direction === 'up' ? 1 : -1
  return own?.value === value ? { ...body, value: 0 } : body
}
