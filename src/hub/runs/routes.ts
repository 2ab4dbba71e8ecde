import * as z from 'zod'
import type { SessionFacts } from '../../agents/contract/agents'
import { canReadSession } from '../../agents/contract/sessions'
import { memoryLimits } from '../../shared/config'
import { decodeKeyset, encodeCursor, toPageFields } from '../../shared/cursor'
import { run } from '../../shared/db/batch'
import { selectClosedOwners } from '../communities/opening-queries'
import type { ActionContext } from '../database/action-context'
import { runActionOnce } from '../database/run-once'
import {
  countAnswer,
  deletedAnswer,
  microusdAnswer,
  pageFields,
  pageParameters,
  presentTime,
  timeAnswer,
} from '../http/answers'
import { type Call, presentIdempotent, type Route, routesOf } from '../http/route'
import { openStoredTrace } from '../operations/archive-view'
import { personAnswer } from '../rules/people'
import { findTraceAccess, maskTrace, readTrace, type TraceView } from '../rules/traces'
import { activationRequestErrors, cancelActivation } from './actions'
import {
  activationAnswer,
  eventAnswer,
  otlpAnswer,
  presentActivation,
  presentTrace,
  traceAnswer,
} from './answers'
import { type FeedbackResult, feedbackInput, rateAnswer, removeFeedback } from './feedback-actions'
import { selectFeedback, selectIsRunShown } from './feedback-queries'
import {
  type ActivationRecord,
  recordStatements,
  runFilterQuery,
  selectActivation,
  splitRuns,
  type TracedActivation,
  totalsStatements,
} from './list-queries'
import {
  compactSession,
  findSeenAgent,
  isAdminOrAgent,
  presentMessage,
  presentSessionFacts,
  presentTotals,
  requireReadable,
  resetSession,
  restoreSession,
  type SeenAgent,
  type SessionFactsOfAccess,
  sessionAnswer,
  sessionErrors,
  sessionFactsAnswer,
  snapshotInput,
  toSnapshot,
  totalsAnswer,
} from './session-actions'

const route = routesOf('agents')

const listRoute = route({
  method: 'get',
  path: '/activations',
  summary:
    'Lists activations, newest first. Those that are private to others are left out. With a filter a page can be short: has_more says whether there can be more',
  access: 'read',
  query: runFilterQuery.extend({
    ...pageParameters(100, 25),
  }),
  answer: z.object({ activations: z.array(activationAnswer), ...pageFields }),
  handle: async ({ list, reader, query, read }) => {
    const { limit, cursor, ...filter } = query
    const before = decodeKeyset(list, cursor)
    const statements = recordStatements({ ...filter, reader, before, limit: limit + 1 })
    const { rows, edge } = (await read(statements)).answers
    const { page, next } = splitRuns(rows, edge, limit)
    return {
      activations: page.map(presentActivation),
      ...toPageFields(next && encodeCursor(list, next)),
    }
  },
})

const totalsRoute = route({
  method: 'get',
  path: '/activations/totals',
  summary: 'Returns the sums of the activations that match a filter; it looks at the newest 10,000',
  access: 'read',
  query: runFilterQuery,
  answer: z.object({
    runs: countAnswer,
    cost_microusd: microusdAnswer,
    is_priced: z.boolean().describe('False when the price of a model is unknown.'),
    tokens: countAnswer,
    model_calls: countAnswer,
    since: timeAnswer.nullable().describe('Where they end; null when they are complete.'),
  }),
  handle: async ({ reader, query, read }) => {
    const { totals, totalsEdge } = (await read(totalsStatements({ ...query, reader }))).answers
    return {
      runs: totals.runs,
      cost_microusd: totals.costMicrousd,
      is_priced: totals.isPriced,
      tokens: totals.tokens,
      model_calls: totals.modelCalls,
      since: presentTime(totalsEdge?.at ?? null),
    }
  },
})

const isRedacted = z
  .boolean()
  .describe('Whether prompts, model text, arguments and results are left out.')

const runAnswer = z.object({
  activation: activationAnswer,
  trace: traceAnswer.nullable().describe('Null when it is not stored.'),
  is_redacted: isRedacted,
})

const eventsAnswer = z.object({
  events: z.array(eventAnswer),
  last_seq: countAnswer,
  is_over: z.boolean(),
  is_redacted: isRedacted,
})

const readRoute = route({
  method: 'get',
  path: '/activations/:id',
  summary:
    'Returns one activation with its trace, also while it runs. When is_redacted is true, prompts, model text, arguments and results are empty: only admins and the owner of the agent see them',
  access: 'read',
  answer: runAnswer,
  handle: async (call) => {
    const { row, trace, isRedacted } = await readActivation(call)
    return {
      activation: presentActivation(row),
      trace: trace && presentTrace(trace),
      is_redacted: isRedacted,
    }
  },
})

const eventsRoute = route({
  method: 'get',
  path: '/activations/:id/events',
  summary:
    'Lists the events of an activation, also while it runs. Sequence numbers have no gaps; is_redacted is the same as of the activation',
  access: 'read',
  query: z.object({ after: z.coerce.number().int().min(0).default(0) }),
  answer: eventsAnswer,
  handle: async (call) => {
    const { row, trace, isRedacted } = await readActivation(call)
    const events = trace?.events ?? []
    return {
      events: events.filter(({ seq }) => seq > call.query.after),
      last_seq: events.length,
      is_over: row.state === 'done',
      is_redacted: isRedacted,
    }
  },
})

const otlpRoute = route({
  method: 'get',
  path: '/activations/:id/otlp',
  summary: 'Returns one activation as OpenTelemetry spans (OTLP JSON, ExportTraceServiceRequest)',
  access: 'read',
  answer: otlpAnswer,
  isBare: true,
  handle: async (call) => {
    const { trace } = await readActivation(call)
    if (!trace) throw activationRequestErrors.noTrace()
    // not wrapped, so that the body can be forwarded to a collector
    return call.c.json(call.context.agents.toOtlp(trace))
  },
})

interface VisibleActivation {
  row: TracedActivation
  trace: TraceView | null
  isRedacted: boolean
}

/** Returns an activation as its viewer may see it; authentication is part of the same round trip. */
async function readActivation(call: Call<unknown, unknown>): Promise<VisibleActivation> {
  const { context, param, read, reader: of } = call
  const { viewer, answers } = await read({ row: selectActivation({ id: param('id'), reader: of }) })
  const { row } = answers
  if (!row) throw activationRequestErrors.notFound()
  const reader = viewer && { id: viewer.id, isAdmin: viewer.role === 'admin' }
  const access = findTraceAccess(reader, row)
  const log =
    (await readLiveLog(context, row)) ?? (await openStoredTrace(context.archive, row.trace))
  return { row, trace: readTrace(context.agents, log, access, row), isRedacted: access !== 'all' }
}

/**
 * Reads the log of a running activation from its agent; null when it has ended or the agent does not
 * respond.
 */
async function readLiveLog(
  { agents, settings }: ActionContext,
  { state, agentId, id }: ActivationRecord,
): Promise<string | null> {
  if (state === 'done') return null
  const log = await agents.readRunLog(agentId, id).catch(() => null)
  return log && maskTrace(log, settings)
}

export const activationRoutes: Route[] = [
  listRoute,
  totalsRoute,
  readRoute,
  eventsRoute,
  otlpRoute,
  route({
    method: 'post',
    path: '/activations/:id/cancel',
    summary: 'Cancels an activation; admins and requesters only',
    access: 'write',
    answer: z.object({ cancelled: z.string().describe('Its id.') }),
    handle: async (call) => {
      const isAdmin = call.viewer().role === 'admin'
      const done = await cancelActivation(call.context, call.actor(), isAdmin, call.param('id'))
      return presentIdempotent(call, done, (answer) => answer)
    },
  }),
]

const path = '/activations/:id/feedback'

const savedAnswer = z.object({
  activation_id: z.string(),
  feedback: z.object({ value: z.enum(['up', 'down']), note: z.string() }).nullable(),
})

const presentSaved = ({ activationId, feedback }: FeedbackResult): z.input<typeof savedAnswer> => ({
  activation_id: activationId,
  feedback,
})

export const runFeedbackRoutes: Route[] = [
  route({
    method: 'get',
    path,
    summary:
      'Returns what people think of the answer of an activation; notes are shown to people who are signed in, never to agents',
    access: 'read',
    answer: z.object({
      up: countAnswer,
      down: countAnswer,
      feedback: z.array(
        z.object({
          account: personAnswer.describe('Its author.'),
          value: z.enum(['up', 'down']),
          note: z.string(),
          at: timeAnswer,
          is_own: z.boolean(),
        }),
      ),
    }),
    handle: async ({ param, reader, read }) => {
      const of = { id: param('id'), reader }
      const { answers } = await read({ shown: selectIsRunShown(of), rows: selectFeedback(of) })
      if (!answers.shown) throw activationRequestErrors.notFound()
      const { rows } = answers
      return {
        up: rows[0]?.up ?? 0,
        down: rows[0]?.down ?? 0,
        feedback: rows.map(({ account, value, note, at, isOwn }) => ({
          account,
          note,
          is_own: isOwn,
          value: value === 1 ? ('up' as const) : ('down' as const),
          at: presentTime(at),
        })),
      }
    },
  }),
  route({
    method: 'put',
    path,
    summary:
      'Saves whether the answer of an activation was good, with a note; people only, one for each account',
    access: 'write',
    body: feedbackInput,
    answer: savedAnswer,
    handle: async (call) => {
      const done = await rateAnswer(call.context, call.actor(), call.param('id'), call.body)
      return presentIdempotent(call, done, presentSaved)
    },
  }),
  route({
    method: 'delete',
    path,
    summary: 'Removes your feedback on the answer of an activation; repeating changes nothing',
    access: 'write',
    allowsMuted: true,
    answer: savedAnswer,
    handle: async (call) =>
      presentSaved(await removeFeedback(call.context, call.actor(), call.param('id'))),
  }),
]

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

const listSessionsRoute = route({
  method: 'get',
  path: '/agents/:name/sessions',
  summary:
    'Lists the sessions of an agent, newest first, with token and tool counters (admin, the owner or the agent; others their own)',
  access: 'write',
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

const readSessionRoute = route({
  method: 'get',
  path: '/agents/:name/sessions/:id',
  summary:
    'Returns a snapshot of a session: history and token counters (admin, the owner or the agent; others their own)',
  access: 'write',
  answer: z.object({ session: sessionAnswer }),
  handle: async (call) => presentSession(call, await findAgent(call)),
})

const restoreRoute = route({
  method: 'put',
  path: '/agents/:name/sessions/:id',
  summary:
    'Restores a session from a snapshot, replacing its history (admin, the owner or the agent; others their own)',
  access: 'write',
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
  access: 'write',
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
  access: 'write',
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

export const sessionRoutes: Route[] = [
  listSessionsRoute,
  readSessionRoute,
  restoreRoute,
  resetRoute,
  compactRoute,
]
