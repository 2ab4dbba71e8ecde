import { memoryLimits } from '../../config'
import { AppError, notFound } from '../../errors'
import type { AccountId } from '../../ids'
import { type Call, presentOnce, type Route, route } from '../http/route'
import { actOnce } from '../idempotency/run-once'
import { selectHostedAgent } from '../system/queries'
import { presentFacts, presentMessage, presentTotals, snapshotInput, toSnapshot } from './snapshot'

const tag = 'sessions'

/**
 * The agent whose sessions are meant. They hold what people said to it, some of it in private, so only
 * an admin and the agent itself may look.
 */
async function findAgent(call: Call<unknown, unknown>): Promise<AccountId> {
  const viewer = call.viewer()
  const name = call.param('name')
  const isOwn = viewer.name.toLowerCase() === name.toLowerCase()
  if (viewer.role !== 'admin' && !isOwn) {
    throw new AppError('FORBIDDEN', 'Only an admin and the agent itself may do this.', {
      hint: "Use the key of an admin account, or the agent's own.",
    })
  }
  const agent = await selectHostedAgent(call.context.db, name).first<{ accountId: AccountId }>()
  if (agent) return agent.accountId
  throw notFound('hosted agent', 'Only agents that this hub runs have sessions.')
}

const noSession = () =>
  notFound('session', 'GET /api/v1/agents/:name/sessions lists the sessions of an agent.')

async function presentSession(call: Call<unknown, unknown>, agentId: AccountId): Promise<object> {
  const snapshot = await call.context.agents.sessions.read(agentId, call.param('id'))
  if (!snapshot) throw noSession()
  const { messages, ...facts } = snapshot
  return { session: { ...presentFacts(facts), messages: messages.map(presentMessage) } }
}

const listRoute = route({
  method: 'get',
  path: '/agents/:name/sessions',
  summary: "An agent's sessions, newest first, with token and tool counters (admin or the agent)",
  tag,
  access: 'write',
  handle: async (call) => {
    const agentId = await findAgent(call)
    const { sessionsListed } = memoryLimits
    const found = await call.context.agents.sessions.list(agentId, sessionsListed)
    return {
      sessions: found.sessions.map(({ messageCount, ...facts }) => ({
        ...presentFacts(facts),
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
  summary: 'A snapshot of a session: history and token counters (admin or the agent)',
  tag,
  access: 'write',
  handle: async (call) => presentSession(call, await findAgent(call)),
})

const restoreRoute = route({
  method: 'put',
  path: '/agents/:name/sessions/:id',
  summary: 'Restores a session from a snapshot, in place of what is there (admin or the agent)',
  tag,
  access: 'write',
  body: snapshotInput,
  handle: async (call) => {
    const agentId = await findAgent(call)
    const { agents, clock } = call.context
    const id = requireSessionId(call.param('id'))
    const snapshot = toSnapshot(id, call.body, clock.now())
    if (await agents.sessions.restore(agentId, id, snapshot)) return presentSession(call, agentId)
    throw new AppError('TOO_LARGE', 'This is more than an agent keeps of one conversation.', {
      hint: 'Leave out the oldest messages and say in the summary what they were about.',
    })
  },
})

/** `{channel}_{chat_id}`. */
function requireSessionId(id: string): string {
  if (id.length <= memoryLimits.sessionIdCharsMax && /^[^\s_]+_\S+$/u.test(id)) return id
  throw new AppError('VALIDATION', 'The id of a session is {channel}_{chat_id}.', {
    details: [{ path: 'path.id', message: 'a channel, an underscore and the rest, no spaces' }],
  })
}

const resetRoute = route({
  method: 'delete',
  path: '/agents/:name/sessions/:id',
  summary: 'Resets a session: its history is forgotten (admin or the agent)',
  tag,
  access: 'write',
  handle: async (call) => {
    const id = call.param('id')
    const isReset = await call.context.agents.sessions.reset(await findAgent(call), id)
    if (!isReset) throw noSession()
    return { reset: id }
  },
})

const compactRoute = route({
  method: 'post',
  path: '/agents/:name/sessions/:id/compact',
  summary: 'Puts a summary in place of the oldest messages of a session (admin or the agent)',
  tag,
  access: 'write',
  handle: async (call) => {
    const { db, clock, agents } = call.context
    const { accountId, idempotencyKey: key } = call.actor()
    const id = call.param('id')
    const once = { accountId, key, action: 'sessions.compact', input: [call.param('name'), id] }
    const done = await actOnce(db, once, clock.now(), async () => {
      const compacted = await agents.sessions.compact(await findAgent(call), id)
      if (!compacted) throw noSession()
      return compacted
    })
    return presentOnce(call, done, (compacted) => ({ compacted: { id, ...compacted } }))
  },
})

export const sessionRoutes: Route[] = [listRoute, readRoute, restoreRoute, resetRoute, compactRoute]
