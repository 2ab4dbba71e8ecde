import * as z from 'zod'
import type { SessionFacts } from '../../agents/contract/agents'
import { canReadSession } from '../../agents/contract/knowledge'
import { memoryLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { countAnswer, deletedAnswer, microusdAnswer } from '../http/answers'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { runActionOnce } from '../idempotency/run-once'
import { selectClosedOwners } from '../openings/queries'
import {
  compactSession,
  findSeenAgent,
  isAdminOrAgent,
  requireReadable,
  resetSession,
  restoreSession,
  type SessionFactsOfAccess,
} from './actions'
import type { SeenAgent } from './agent-view'
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

const tag = 'agents'

const callerOf = (call: Call<unknown, unknown>) => ({ viewer: call.viewer(), reader: call.reader })

/** Returns the agent in the path, with what the caller sees of its sessions. */
const findAgent = (call: Call<unknown, unknown>): Promise<SeenAgent> =>
  findSeenAgent(call.context, callerOf(call), call.param('name'))

/** Returns whom sessions are private to that an admin has not opened; for the agent itself nobody. */
async function selectClosed(
  call: Call<unknown, unknown>,
  { id: agentId }: SeenAgent,
  sessions: Pick<SessionFacts, 'privateTo'>[],
): Promise<Map<string, string>> {
  const owners = [...new Set(sessions.flatMap(({ privateTo }) => privateTo))]
  const { id: adminId } = call.viewer()
  if (owners.length === 0 || adminId === agentId) return new Map()
  const values = { owners: JSON.stringify(owners), reader: call.reader, adminId }
  const closed = await run(call.context.db, selectClosedOwners(values))
  return new Map(closed.map(({ id, label }) => [id, label]))
}

/**
 * Throws FORBIDDEN for a session with parts that an admin has to open first, and NOT_FOUND for one that others do
 * not see.
 */
async function requireOpen(
  call: Call<unknown, unknown>,
  agent: SeenAgent,
  session: SessionFactsOfAccess,
): Promise<void> {
  if (!isAdminOrAgent(call.viewer(), agent)) return requireReadable(agent, session)
  const closed = await selectClosed(call, agent, [session])
  if (closed.size > 0) throw sessionErrors.closed([...closed.values()])
}

async function presentSession(
  call: Call<unknown, unknown>,
  agent: SeenAgent,
): Promise<{ session: z.input<typeof sessionAnswer> }> {
  const snapshot = await call.context.agents.sessions.read(agent.id, call.param('id'))
  if (!snapshot && !isAdminOrAgent(call.viewer(), agent)) requireReadable(agent, null)
  if (!snapshot) throw sessionErrors.notFound()
  await requireOpen(call, agent, snapshot)
  const { messages, privateTo: _, ...facts } = snapshot
  return { session: { ...presentSessionFacts(facts), messages: messages.map(presentMessage) } }
}

const noTotals = {
  activations: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  costMicrousd: 0,
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
    'Lists the sessions of an agent, newest first, with token and tool counters (admin, the owner or the agent; others their own)',
  tag,
  access: 'write',
  rate: 'read',
  answer: sessionListAnswer,
  handle: async (call) => {
    const agent = await findAgent(call)
    const { sessionsListed } = memoryLimits
    const found = await call.context.agents.sessions.list(agent.id, sessionsListed)
    const isFull = isAdminOrAgent(call.viewer(), agent)
    const sessions = found.sessions.filter((each) => isFull || canReadSession(agent.view, each))
    const closed = isFull ? await selectClosed(call, agent, sessions) : new Map()
    if (!agent.view.isManager && sessions.length === 0) throw sessionErrors.noAccess()
    return {
      sessions: sessions.map(({ messageCount, privateTo, ...facts }) => ({
        ...presentSessionFacts(facts),
        ...(privateTo.some((owner) => closed.has(owner)) && { summary: '' }),
        message_count: messageCount,
      })),
      totals: presentTotals(agent.view.isManager ? found.totals : noTotals),
      tools: (agent.view.isManager ? found.tools : []).map(({ totalMs, ...tool }) => ({
        ...tool,
        total_ms: totalMs,
      })),
    }
  },
})

const readRoute = route({
  method: 'get',
  path: '/agents/:name/sessions/:id',
  summary:
    'Returns a snapshot of a session: history and token counters (admin, the owner or the agent; others their own)',
  tag,
  access: 'write',
  rate: 'read',
  answer: z.object({ session: sessionAnswer }),
  handle: async (call) => presentSession(call, await findAgent(call)),
})

const restoreRoute = route({
  method: 'put',
  path: '/agents/:name/sessions/:id',
  summary:
    'Restores a session from a snapshot, replacing its history (admin, the owner or the agent; others their own)',
  tag,
  access: 'write',
  rate: 'write',
  body: snapshotInput,
  answer: z.object({ session: sessionAnswer }),
  handle: async (call) => {
    const { id: sessionId, ...input } = { ...call.body, id: requireSessionId(call.param('id')) }
    const agent = await findAgent(call)
    const snapshot = toSnapshot(sessionId, input, call.context.clock.now())
    await restoreSession(call.context, callerOf(call), agent, snapshot, (present) =>
      requireOpen(call, agent, present),
    )
    return presentSession(call, agent)
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
  summary:
    'Resets a session: deletes its history (admin, the owner or the agent; others their own)',
  tag,
  access: 'write',
  rate: 'write',
  answer: deletedAnswer,
  handle: async (call) => {
    const id = call.param('id')
    await resetSession(call.context, callerOf(call), await findAgent(call), id)
    return { deleted: id }
  },
})

const compactedAnswer = z.object({
  compacted: z.object({
    id: z.string(),
    replaced: countAnswer.describe('Messages that the summary replaced.'),
    messages: countAnswer.describe('Remaining messages.'),
    by: z
      .enum(['model', 'extract'])
      .nullable()
      .describe('What wrote the summary; null when no message was replaced.'),
    note: z.string().nullable().describe('Why the model did not write the summary.'),
    cost_microusd: microusdAnswer,
  }),
})

const compactRoute = route({
  method: 'post',
  path: '/agents/:name/sessions/:id/compact',
  summary:
    "Replaces the oldest messages of a session by a summary of the agent's model, or by an extract (admin, the owner or the agent; others their own)",
  tag,
  access: 'write',
  rate: 'write',
  answer: compactedAnswer,
  handle: async (call) => {
    const { db, clock } = call.context
    const { accountId, idempotencyKey: key } = call.actor()
    const id = call.param('id')
    const once = { accountId, key, action: 'sessions.compact', input: [call.param('name'), id] }
    const done = await runActionOnce(db, once, clock.now(), async () =>
      compactSession(call.context, callerOf(call), await findAgent(call), id),
    )
    return presentIdempotent(call, done, ({ costMicrousd, ...compacted }) => ({
      compacted: { id, ...compacted, cost_microusd: costMicrousd },
    }))
  },
})

export const sessionRoutes: Route[] = [listRoute, readRoute, restoreRoute, resetRoute, compactRoute]
