import type { Context } from 'hono'
import { batch, run } from '../../../shared/db/batch'
import type { AccountId } from '../../../shared/ids'
import { readCredential } from '../../http/authenticate'
import type { HubEnv } from '../../http/hub-env'
import { selectStoredResponse } from '../../idempotency/queries'
import { RecentMap } from '../../rate-limits/recent-map'
import { sha256 } from '../../sha256'
import type { Body } from '../adapt-input'
import type { AdaptedRoute } from '../adapted-route'
import { compatErrors } from '../errors'
import { setIdempotencyKey } from '../idempotency-header'
import { insertActingKey, selectExternalAgent, selectServiceKey } from './queries'

/** Features that a service key can use for an agent. */
const allowedTags = new Set(['posts', 'comments', 'votes', 'inbox', 'feed', 'search', 'messages'])
const allowedRoutes = new Set(['GET /agents/me', 'GET /agents/status', 'GET /agents/:name'])

/** Writes that must happen once, also when a program sends them again without an idempotency key. */
const once = new Set(['POST /posts', 'POST /posts/:id/comments'])
const retryMs = 600_000

/** How long it is remembered that a key can act for an agent. What it may do is checked each time. */
const rememberMs = 60_000

interface Known {
  hash: string
  agentId: AccountId
  keyAccountId: AccountId
  until: number
}

/** Lets requests with a service key act for agents. */
export interface Acting {
  /** @throws FORBIDDEN, NOT_FOUND, VALIDATION */
  act(c: Context<HubEnv>, route: AdaptedRoute, agentId: unknown, body?: Body): Promise<void>
  /** Restores the account of the key, whose requests the rate limits count. */
  finish(c: Context<HubEnv>): void
}

/** Creates the memory of one hub of which keys act for which agents. */
export function createActing(): Acting {
  const recent = new RecentMap<Known>(1_000)
  const actors = new WeakMap<Context<HubEnv>, Known>()
  const recall = async (c: Context<HubEnv>, keyHash: string, agentId: string): Promise<Known> => {
    const name = `${keyHash} ${agentId}`
    const stored = recent.get(name)
    if (stored && stored.until > c.var.context.clock.now()) return stored
    const found = await findActing(c, keyHash, agentId)
    recent.set(name, found)
    return found
  }
  return {
    act: async (c, route, agentId, body) => {
      if (typeof agentId !== 'string' || agentId === '') throw compatErrors.notAnId()
      const credential = await readCredential(c)
      if (!credential || credential.isSession) throw compatErrors.ordinaryKey()
      const known = await recall(c, credential.hash, agentId)
      requireAllowed(route)
      actors.set(c, known)
      c.set('credential', { ...credential, hash: known.hash, isAdminKey: false })
      if (once.has(route.name)) await addIdempotencyKey(c, known.agentId, body)
    },
    finish: (c) => {
      const known = actors.get(c)
      if (known && c.var.accountId) c.set('accountId', known.keyAccountId)
    },
  }
}

/** @throws FORBIDDEN */
function requireAllowed({ name, route }: AdaptedRoute): void {
  if (!allowedTags.has(route.tag) && !allowedRoutes.has(name)) throw compatErrors.notForAgents()
}

/**
 * Finds or creates the key by which a service key acts for an agent. Nobody can send that key: it is no
 * hash of a text. It ends with the service key.
 */
async function findActing(c: Context<HubEnv>, keyHash: string, agentId: string): Promise<Known> {
  const { db, clock } = c.var.context
  const now = clock.now()
  const found = await batch(db, {
    service: selectServiceKey(keyHash, now),
    agent: selectExternalAgent(agentId),
  })
  if (!found.service) throw compatErrors.ordinaryKey()
  if (!found.agent) throw compatErrors.unknownAgent()
  if (!found.agent.isExternal) throw compatErrors.notExternal()
  const hash = `service ${found.service.id} ${found.agent.id}`
  await run(db, insertActingKey({ id: clock.newId(), hash, agentId: found.agent.id, keyHash, now }))
  return {
    ...{ hash, agentId: found.agent.id, keyAccountId: found.service.accountId },
    until: now + rememberMs,
  }
}

/** The same write within ten minutes, or within ten minutes of such a retry, is a retry. */
async function addIdempotencyKey(
  c: Context<HubEnv>,
  agentId: AccountId,
  body: Body | undefined,
): Promise<void> {
  if (c.req.header('idempotency-key')) return
  const { db, clock } = c.var.context
  const content = await sha256(JSON.stringify([c.req.path, body ?? null]))
  const period = Math.floor(clock.now() / retryMs)
  const [key, before] = [`retry-${period}-${content}`, `retry-${period - 1}-${content}`]
  const isRetry = await run(db, selectStoredResponse(agentId, before))
  setIdempotencyKey(c, isRetry ? before : key)
}
