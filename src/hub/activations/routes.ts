import * as z from 'zod'
import { decodeKeyset, encodeCursor, toPageFields } from '../../shared/cursor'
import type { ActionContext } from '../action-context'
import { openStoredTrace } from '../archive/archived-trace-view'
import { countAnswer, microusdAnswer, pageFields, presentTime, timeAnswer } from '../http/answers'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { maskTrace } from '../traces/mask-trace'
import { findTraceAccess } from '../traces/trace-access'
import { readTrace, type TraceView } from '../traces/trace-view'
import { cancelActivation } from './actions'
import { activationAnswer, eventAnswer, otlpAnswer, traceAnswer } from './answers'
import { activationRequestErrors } from './errors'
import { runFilterQuery } from './filter'
import { type ActivationRecord, selectActivation, type TracedActivation } from './list-queries'
import { presentActivation, presentTrace } from './present'
import { recordStatements, splitRuns, totalsStatements } from './run-list-queries'

const tag = 'agents'

const listRoute = route({
  method: 'get',
  path: '/activations',
  summary:
    'Lists activations, newest first. Those that are private to others are left out. With a filter a page can be short: has_more says whether there can be more',
  tag,
  access: 'read',
  rate: 'read',
  query: runFilterQuery.extend({
    limit: z.coerce.number().int().min(1).max(100).default(25),
    cursor: z.string().max(500).optional(),
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
  tag,
  access: 'read',
  rate: 'read',
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
  tag,
  access: 'read',
  rate: 'read',
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
  tag,
  access: 'read',
  rate: 'read',
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
  tag,
  access: 'read',
  rate: 'read',
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
    tag,
    access: 'write',
    rate: 'write',
    answer: z.object({ cancelled: z.string().describe('Its id.') }),
    handle: async (call) => {
      const isAdmin = call.viewer().role === 'admin'
      const done = await cancelActivation(call.context, call.actor(), isAdmin, call.param('id'))
      return presentIdempotent(call, done, (answer) => answer)
    },
  }),
]
