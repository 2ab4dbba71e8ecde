import type { Context } from 'hono'
import { batch } from '../../shared/db/batch'
import { readCredential } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import type { Body } from './adapt-input'
import type { AdaptedRoute } from './adapted-route'
import { selectOwnVote, selectRemovedVote } from './queries'

const votePath = /\/(post|comment)s\/([^/]+)\/(up|down)vote$/

/** The same vote within this time is a retry after a lost answer, not a wish to undo it. */
const retryMs = 60_000

/** The body of a vote, and the idempotency key under which it is stored. */
interface Toggled {
  body: Body | undefined
  key: string | null
}

/**
 * Returns the body of a vote that removes the same vote given before: existing clients vote twice for
 * that. Within a minute the same vote changes nothing, and after a removal it stays removed, so that a retry
 * undoes nothing. A request with `value` or an idempotency key sets the vote, as everywhere else.
 */
export async function toggleVote(
  c: Context<HubEnv>,
  route: AdaptedRoute,
  body: Body | undefined,
): Promise<Toggled> {
  const unchanged = { body, key: null }
  if (route.route.tag !== 'votes') return unchanged
  if (body?.value !== undefined || c.req.header('idempotency-key')) return unchanged
  const [place, kind, id, direction] = votePath.exec(c.req.path) ?? []
  const credential = await readCredential(c)
  if (!credential || !id) return unchanged
  const { db, clock } = c.var.context
  const now = clock.now()
  const period = Math.floor(now / retryMs)
  const toKey = (at: number) => `toggle-${at}-${place}`
  const { own, removed } = await batch(db, {
    own: selectOwnVote(credential, now, { kind: kind === 'post' ? 'post' : 'comment', id }),
    removed: selectRemovedVote(credential, now, [toKey(period), toKey(period - 1)], now - retryMs),
  })
  if (removed) return { body: { ...body, value: 0 }, key: removed.key }
  const isSame = own?.value === (direction === 'up' ? 1 : -1)
  if (!isSame || now - own.createdAt < retryMs) return unchanged
  return { body: { ...body, value: 0 }, key: toKey(period) }
}
