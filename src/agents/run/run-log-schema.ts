import * as z from 'zod'
import { type RunEvent, runLogVersion } from './run-event'

/** Milliseconds since the epoch that a date can have (ECMAScript, Time Values). */
const time = z.number().min(0).max(8.64e15)
const number = z.number()
const text = z.string()
const textOrNull = text.nullable()

const charge = z.object({
  inputTokens: number,
  cachedTokens: number,
  outputTokens: number,
  reasoningTokens: number,
  microusd: number,
  isPriced: z.boolean(),
  isEstimated: z.boolean(),
  durationMs: number,
  model: text.optional(),
  doubt: text.optional(),
})

const usage = z.object({
  inputTokens: number,
  cachedTokens: number,
  cacheWriteTokens: number.optional(),
  outputTokens: number,
  reasoningTokens: number,
})

const call = z.object({ callId: text, name: text, arguments: text })
const requestedCall = call.extend({ isSequential: z.boolean(), refusal: textOrNull })
const result = z.object({ callId: text, name: text, text, isError: z.boolean() })
const closed = z.array(z.object({ callId: text, name: text, text, startedAt: time.nullable() }))

const message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'user']), text }),
  z.object({
    role: z.literal('assistant'),
    text,
    calls: z.array(call),
    providerParts: text.optional(),
  }),
  z.object({ role: z.literal('tool'), results: z.array(result) }),
])

const hooks = z.array(
  z.object({
    hook: text,
    point: text,
    ms: number,
    outcome: z.enum(['ok', 'denied', 'failed', 'timed_out']),
  }),
)

const request = z.object({
  model: text,
  maxOutputTokens: number,
  temperature: number.optional(),
  topP: number.optional(),
  tools: z.array(text).optional(),
  status: text,
})

const promptSize = z.object({
  messages: number,
  chars: number,
  tokens: number,
  prefixShare: number.nullable(),
})

const plan = z.object({
  goal: textOrNull,
  steps: z.array(
    z.object({ title: text, status: z.enum(['pending', 'running', 'completed', 'failed']) }),
  ),
})

const changes = z.object({
  branch: text,
  pushed: textOrNull,
  since: textOrNull,
  stat: text,
  patchChars: number,
})

const approval = z.object({
  callId: text,
  tool: text,
  grant: text,
  tier: z.enum(['read', 'write', 'destructive']),
  arguments: text,
  argumentsHash: text,
})

const decisions = z.array(
  z.object({
    callId: text,
    decision: z.enum(['approved', 'denied', 'expired']),
    by: textOrNull,
    note: text,
  }),
)

const limits = z.object({
  iterations: number,
  tokens: number,
  durationMs: number,
  contextTokens: number,
})

const admission = z.enum(['granted', 'budget_exhausted'])

const eventOf = <Type extends RunEvent['type'], Shape extends z.core.$ZodShape>(
  type: Type,
  shape: Shape,
) => z.object({ at: time, type: z.literal(type), ...shape })

const event = z.discriminatedUnion('type', [
  eventOf('woken', { activationId: text }),
  eventOf('load_waited', { retryAt: time, reason: text }),
  eventOf('load_failed', { code: text, message: text }),
  eventOf('load_found_nothing', {}),
  eventOf('loaded', {
    agent: text,
    model: z.object({ id: text, isOffline: z.boolean(), substitutedFor: textOrNull }),
    task: z.enum(['mention', 'reply', 'dm', 'exploration', 'scheduled', 'manual']),
    session: textOrNull,
    goal: textOrNull,
    definition: z.object({ version: number, etag: text }),
    admission,
    limits,
    prompt: z.array(message),
    historyFrom: number,
    notes: z.array(text),
  }),
  eventOf('model_answered', {
    step: number,
    startedAt: time,
    request: request.nullable(),
    input: promptSize.nullable(),
    text,
    reasoning: text,
    finish: text,
    usage: usage.nullable(),
    providerParts: text.optional(),
    calls: z.array(requestedCall),
    charge,
    warning: textOrNull,
    hooks,
  }),
  eventOf('model_failed', {
    startedAt: time,
    request: request.nullable(),
    code: text,
    message: text,
    detail: textOrNull,
    charge: charge.nullable(),
  }),
  eventOf('model_refused', { reason: text }),
  eventOf('model_waited', { retryAt: time }),
  eventOf('steered', {
    items: z.array(z.object({ author: text, isModeration: z.boolean(), text })),
  }),
  eventOf('tool_returned', {
    startedAt: time,
    durationMs: number,
    callId: text,
    name: text,
    arguments: text,
    text,
    isError: z.boolean(),
    resultBytes: number,
    grant: textOrNull,
    decision: textOrNull,
    allowedBy: text.optional(),
    hooks,
    plan: plan.optional(),
  }),
  eventOf('tool_parked', { startedAt: time, callId: text, name: text, approval, hooks }),
  eventOf('parked', { isLost: z.boolean() }),
  eventOf('park_failed', {}),
  eventOf('resumed', { admission, decisions, isCancelled: z.boolean(), closed }),
  eventOf('compacted', {
    startedAt: time,
    summary: text,
    replaced: number,
    tokensBefore: number,
    tokens: number,
    charge: charge.nullable(),
    problem: textOrNull,
  }),
  eventOf('slept', {}),
  eventOf('time_ran_out', { charge: charge.nullable(), stopped: textOrNull, closed }),
  eventOf('cancel_requested', { charge: charge.nullable(), stopped: textOrNull, closed }),
  eventOf('interrupted', { charge: charge.nullable(), isEnded: z.boolean(), closed }),
  eventOf('commit_failed', {}),
  eventOf('committed', { isLost: z.boolean() }),
  eventOf('program_placed', { attempt: number, place: text }),
  eventOf('request_admitted', { request: number, protocol: text }),
  eventOf('tools_listed', {}),
  eventOf('program_called', { callId: text, name: text, arguments: text }),
  eventOf('program_reported', {
    attempt: number,
    text,
    reasoning: text,
    notes: z.array(text),
    plan: plan.optional(),
    changes: changes.optional(),
  }),
  eventOf('program_call_decided', {}),
  eventOf('approval_overdue', {}),
  eventOf('program_lost', { attempt: number, reason: text }),
  eventOf('program_closed', { requests: number, charge: charge.nullable() }),
  eventOf('nobody_notified', {}),
  eventOf('omitted', { steps: number, charge }),
  eventOf('ended', {
    finishedAt: time.nullable(),
    outcome: text,
    error: z
      .object({ code: text, message: text, details: z.record(text, number).optional() })
      .nullable(),
    warning: textOrNull,
    closed,
  }),
])

/** Checks that JSON of this version has the shape of a `RunLog`. */
export const runLogSchema = z.object({
  version: z.literal(runLogVersion),
  events: z.array(event),
  isTruncated: z.literal(true).optional(),
  usesOwnAccount: z.literal(true).optional(),
})
