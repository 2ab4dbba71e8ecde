import * as z from 'zod'
import type { SessionFacts } from '../../agents/contract/agents'
import { memoryLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { recordAdminAction } from '../admin-log/compose-entry'
import { countAnswer } from '../http/answers'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { runActionOnce } from '../idempotency/run-once'
import { selectClosedOwners } from '../openings/queries'
import { selectHostedAgent } from '../system/queries'
import { sessionErrors } from './errors'
import {
  presentMessage,
  presentSessionFacts,
  presentTotals,
  sessionAnswer,
  sessionFactsAnswer,
  snapshotInput,
  toSnapshot,
  totalsAnswer,
} from './snapshot'

const tag = 'sessions'

/**
 * Returns the agent in the path. Sessions contain private messages, so only admins and the agent itself
 * have access.
 *
 * @throws FORBIDDEN for other viewers, NOT_FOUND when this hub does not run the agent
 */
async function findAgent(call: Call<unknown, unknown>): Promise<AccountId> {
  const viewer = call.viewer()
  const name = call.param('name')
  const isOwn = viewer.name.toLowerCase() === name.toLowerCase()
  if (viewer.role !== 'admin' && !isOwn) throw sessionErrors.noAccess()
  const agent = await run(call.context.db, selectHostedAgent(name))
  if (agent) return agent.accountId
  throw sessionErrors.agentNotFound()
}

/**
 * Returns the agent in the path, after it is recorded that an admin changes a session of it. A session is
 * kept by the agent, so the entry is written before the change.
 */
async function findAgentToChange(call: Call<unknown, unknown>, action: string): Promise<AccountId> {
  const agentId = await findAgent(call)
  await recordChange(call, agentId, action)
  return agentId
}

async function recordChange(
  call: Call<unknown, unknown>,
  agentId: AccountId,
  action: string,
): Promise<void> {
  const { id } = call.viewer()
  const entry = { action, targetType: 'session', targetId: call.param('id'), after: { agentId } }
  if (id !== agentId) await run(call.context.db, recordAdminAction(call.context, id, entry))
}

/** Returns whom sessions are private to that an admin has not opened; for the agent itself nobody. */
async function selectClosed(
  call: Call<unknown, unknown>,
  agentId: AccountId,
  sessions: Pick<SessionFacts, 'privateTo'>[],
): Promise<Map<string, string>> {
  const owners = [...new Set(sessions.flatMap(({ privateTo }) => privateTo))]
  const { id: adminId } = call.viewer()
  if (owners.length === 0 || adminId === agentId) return new Map()
  const values = { owners: JSON.stringify(owners), reader: call.reader, adminId }
  const closed = await run(call.context.db, selectClosedOwners(values))
  return new Map(closed.map(({ id, label }) => [id, label]))
}

/** Throws FORBIDDEN for a session with parts that the admin has to open first. */
async function requireOpen(
  call: Call<unknown, unknown>,
  agentId: AccountId,
  session: Pick<SessionFacts, 'privateTo'>,
): Promise<void> {
  const closed = await selectClosed(call, agentId, [session])
  if (closed.size > 0) throw sessionErrors.closed([...closed.values()])
}

async function presentSession(
  call: Call<unknown, unknown>,
  agentId: AccountId,
): Promise<{ session: z.input<typeof sessionAnswer> }> {
  const snapshot = await call.context.agents.sessions.read(agentId, call.param('id'))
  if (!snapshot) throw sessionErrors.notFound()
  await requireOpen(call, agentId, snapshot)
  const { messages, privateTo: _, ...facts } = snapshot
  return { session: { ...presentSessionFacts(facts), messages: messages.map(presentMessage) } }
}

const sessionListAnswer = z.object({
  sessions: z.array(sessionFactsAnswer.extend({ message_count: countAnswer })),
  totals: totalsAnswer.describe('Of all activations of the agent.'),
  tools: z.array(
    z.object({
      name: z.string(),
      calls: countAnswer,
      errors: countAnswer,
      total_ms: z.number().describe('Duration of all calls in milliseconds.'),
    }),
  ),
})

const listRoute = route({
  method: 'get',
  path: '/agents/:name/sessions',
  summary:
    'Lists the sessions of an agent, newest first, with token and tool counters (admin or the agent)',
  tag,
  access: 'write',
  rate: 'read',
  answer: sessionListAnswer,
  handle: async (call) => {
    const agentId = await findAgent(call)
    const { sessionsListed } = memoryLimits
    const found = await call.context.agents.sessions.list(agentId, sessionsListed)
    const closed = await selectClosed(call, agentId, found.sessions)
    return {
      sessions: found.sessions.map(({ messageCount, privateTo, ...facts }) => ({
        ...presentSessionFacts(facts),
        ...(privateTo.some((owner) => closed.has(owner)) && { summary: '' }),
        message_count: messageCount,
      })),
      totals: presentTotals(found.totals),
      tools: found.tools.map(({ totalMs, ...tool }) => ({ ...tool, total_ms: totalMs })),
    }
  },
})

const readRoute = route({
  method: 'get',
  path: '/agents/:name/sessions/:id',
  summary: 'Returns a snapshot of a session: history and token counters (admin or the agent)',
  tag,
  access: 'write',
  rate: 'read',
  answer: z.object({ session: sessionAnswer }),
  handle: async (call) => presentSession(call, await findAgent(call)),
})

const restoreRoute = route({
  method: 'put',
  path: '/agents/:name/sessions/:id',
  summary: 'Restores a session from a snapshot, replacing its history (admin or the agent)',
  tag,
  access: 'write',
  rate: 'write',
  body: snapshotInput,
  answer: z.object({ session: sessionAnswer }),
  handle: async (call) => {
    const id = requireSessionId(call.param('id'))
    const agentId = await findAgent(call)
    const { agents, clock } = call.context
    const present = await agents.sessions.read(agentId, id)
    if (present) await requireOpen(call, agentId, present)
    await recordChange(call, agentId, 'session.restore')
    const snapshot = toSnapshot(id, call.body, clock.now())
    if (await agents.sessions.restore(agentId, id, snapshot)) return presentSession(call, agentId)
    throw sessionErrors.tooLarge()
  },
})

/** Returns the id; throws VALIDATION unless its format is `{channel}_{chat_id}`. */
function requireSessionId(id: string): string {
  if (id.length <= memoryLimits.sessionIdCharsMax && /^[^\s_]+_\S+$/u.test(id)) return id
  throw sessionErrors.invalidId()
}

const resetRoute = route({
  method: 'delete',
  path: '/agents/:name/sessions/:id',
  summary: 'Resets a session: deletes its history (admin or the agent)',
  tag,
  access: 'write',
  rate: 'write',
  answer: z.object({ reset: z.string().describe('Its id.') }),
  handle: async (call) => {
    const id = call.param('id')
    const isReset = await call.context.agents.sessions.reset(
      await findAgentToChange(call, 'session.reset'),
      id,
    )
    if (!isReset) throw sessionErrors.notFound()
    return { reset: id }
  },
})

const compactedAnswer = z.object({
  compacted: z.object({
    id: z.string(),
    replaced: countAnswer.describe('Messages that the summary replaced.'),
    messages: countAnswer.describe('Remaining messages.'),
  }),
})

const compactRoute = route({
  method: 'post',
  path: '/agents/:name/sessions/:id/compact',
  summary: 'Replaces the oldest messages of a session by a summary (admin or the agent)',
  tag,
  access: 'write',
  rate: 'write',
  answer: compactedAnswer,
  handle: async (call) => {
    const { db, clock, agents } = call.context
    const { accountId, idempotencyKey: key } = call.actor()
    const id = call.param('id')
    const once = { accountId, key, action: 'sessions.compact', input: [call.param('name'), id] }
    const done = await runActionOnce(db, once, clock.now(), async () => {
      const compacted = await agents.sessions.compact(
        await findAgentToChange(call, 'session.compact'),
        id,
      )
      if (!compacted) throw sessionErrors.notFound()
      return compacted
    })
    return presentIdempotent(call, done, (compacted) => ({ compacted: { id, ...compacted } }))
  },
})

export const sessionRoutes: Route[] = [listRoute, readRoute, restoreRoute, resetRoute, compactRoute]
