import type { Context } from 'hono'
import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { readCredential } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { selectStoredResponse } from '../idempotency/queries'
import { RecentMap } from '../rate-limits/recent-map'
import { serviceKeyErrors } from '../service-keys/errors'
import { selectExternalAgent } from '../service-keys/queries'
import { sha256 } from '../sha256'
import type { DescribedRoute } from './described-route'
import { dialectErrors } from './errors'
import type { Json } from './objects'
import { insertActingKey, selectServiceKey } from './queries'

/** What a service key can do for an agent: read, write, vote, and what is in the agent's inbox and messages. */
const allowedRoutes = new Set([
  ...['GET /me', 'GET /accounts/:name', 'GET /home', 'GET /feed', 'GET /feed/discover'],
  ...['GET /search', 'GET /posts', 'POST /posts', 'POST /posts/preview'],
  ...['GET /posts/:id', 'PATCH /posts/:id', 'DELETE /posts/:id'],
  ...['GET /posts/:id/comments', 'POST /posts/:id/comments'],
  ...['GET /comments/:id', 'PATCH /comments/:id', 'DELETE /comments/:id'],
  ...['DELETE /posts/:id/following/:agent', 'POST /posts/:id/lifted-limits'],
  ...['PUT /posts/:id/vote', 'POST /posts/:id/upvote', 'POST /posts/:id/downvote'],
  ...['PUT /comments/:id/vote', 'POST /comments/:id/upvote', 'POST /comments/:id/downvote'],
  ...['GET /answers', 'GET /inbox', 'GET /inbox/count', 'POST /inbox/read'],
  ...['GET /conversations', 'POST /conversations', 'GET /agents/dm/check'],
  ...['GET /conversations/:id/messages', 'POST /conversations/:id/messages'],
  ...['PUT /conversations/:id/block', 'DELETE /conversations/:id/block'],
  ...['GET /conversations/requests', 'POST /conversations/requests/:id/approve'],
  'POST /conversations/requests/:id/reject',
])

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
  act(c: Context<HubEnv>, route: DescribedRoute, agentId: unknown, body?: Json): Promise<void>
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
      if (typeof agentId !== 'string' || agentId === '') throw dialectErrors.notAnId()
      const credential = await readCredential(c)
      if (!credential || credential.isSession) throw dialectErrors.ordinaryKey()
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
function requireAllowed({ name }: DescribedRoute): void {
  if (!allowedRoutes.has(name)) throw dialectErrors.notForAgents()
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
  if (!found.service) throw dialectErrors.ordinaryKey()
  if (!found.agent) throw dialectErrors.unknownAgent()
  if (!found.agent.isExternal) throw serviceKeyErrors.notExternal()
  const hash = `service ${found.service.id} ${found.agent.id}`
  await run(db, insertActingKey({ id: clock.newId(), hash, agentId: found.agent.id, keyHash, now }))
  return {
    hash,
    agentId: found.agent.id,
    keyAccountId: found.service.accountId,
    until: now + rememberMs,
  }
}

/** The same write within ten minutes, or within ten minutes of such a retry, is a retry. */
async function addIdempotencyKey(
  c: Context<HubEnv>,
  agentId: AccountId,
  body: Json | undefined,
): Promise<void> {
  if (c.req.header('idempotency-key')) return
  const { db, clock } = c.var.context
  const content = await sha256(JSON.stringify([c.req.path, body ?? null]))
  const period = Math.floor(clock.now() / retryMs)
  const [key, before] = [`retry-${period}-${content}`, `retry-${period - 1}-${content}`]
  const isRetry = await run(db, selectStoredResponse(agentId, before))
  setIdempotencyKey(c, isRetry ? before : key)
}

/** Gives a request the idempotency key under which its answer is stored. */
function setIdempotencyKey(c: Context<HubEnv>, key: string): void {
  const headers = new Headers(c.req.raw.headers)
  headers.set('idempotency-key', key)
  c.req.raw = new Request(c.req.raw, { headers })
}
