import * as z from 'zod'
import type { Role } from '../../hub/contract/hub'
import type { ActivationId } from '../../shared/ids'
import type { ProgramPlace } from '../loop/event'
import type { Effect } from '../loop/state'

/** Changes with every change of `RunEvent` that a reader of stored logs must know about. */
export const runLogVersion = 3

/** Milliseconds since the epoch that a date can have (ECMAScript, Time Values). */
const time = z.number().min(0).max(8.64e15)
const number = z.number()
const text = z.string()
const textOrNull = text.nullable()

/** A text that is written with a narrower type than is checked when it is read. */
const textAs = <Type extends string>() => text as unknown as z.ZodType<Type, Type>

const charge = z.object({
  inputTokens: number,
  cachedTokens: number,
  outputTokens: number,
  reasoningTokens: number,
  microusd: number,
  isPriced: z.boolean(),
  isEstimated: z.boolean(),
  durationMs: number,
  model: text.exactOptional(),
  overrun: z.object({ tokens: number, microusd: number }).exactOptional(),
  doubt: text.exactOptional(),
})

const usage = z.object({
  inputTokens: number,
  cachedTokens: number,
  cacheWriteTokens: number.exactOptional(),
  outputTokens: number,
  reasoningTokens: number,
})

const call = z.object({
  callId: text,
  name: text,
  /** Raw JSON as the model wrote it. */
  arguments: text,
})

const requestedCall = call.extend({
  isSequential: z.boolean(),
  /** The result of a call that is not run; null when it runs. */
  refusal: textOrNull,
})

const result = z.object({ callId: text, name: text, text, isError: z.boolean() })

const closedCall = z.object({
  callId: text,
  name: text,
  /** The result, as an error. */
  text,
  /** Since when the call ran; null when it did not run or that is unknown. */
  startedAt: time.nullable(),
})
const closed = z.array(closedCall)

const promptImage = z.object({ id: text, type: text, width: number, height: number, place: text })

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), text }),
  z.object({ role: z.literal('user'), text, images: z.array(promptImage).exactOptional() }),
  z.object({
    role: z.literal('assistant'),
    text,
    calls: z.array(call),
    providerParts: text.exactOptional(),
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
  temperature: number.exactOptional(),
  topP: number.exactOptional(),
  tools: z.array(text).exactOptional(),
  status: text,
})

const promptSize = z.object({
  messages: number,
  chars: number,
  tokens: number,
  prefixShare: number.nullable(),
  images: number.exactOptional(),
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

const eventOf = <Type extends string, Shape extends z.core.$ZodShape>(type: Type, shape: Shape) =>
  z.object({ at: time, type: z.literal(type), ...shape })

/** What a person or the time limit stopped, and what that had cost. */
const stop = { charge: charge.nullable(), stopped: textAs<Effect['type']>().nullable(), closed }

/** An event of a run. `at` is milliseconds since the epoch. */
const runEvent = z.discriminatedUnion('type', [
  eventOf('woken', { activationId: textAs<ActivationId>() }),
  eventOf('load_waited', { retryAt: time, reason: text }),
  eventOf('load_failed', { code: text, message: text }),
  eventOf('load_found_nothing', {}),
  eventOf('loaded', {
    agent: text,
    model: z.object({ id: text, isOffline: z.boolean(), substitutedFor: textOrNull }),
    task: z.enum(['mention', 'reply', 'dm', 'exploration', 'scheduled', 'manual']),
    /** For whom the run acts; empty: the hub itself. */
    requesters: z.array(z.object({ name: text, role: textAs<Role>() })),
    session: textOrNull,
    /** The task in the words of the requester; null when it has none. */
    goal: textOrNull,
    definition: z.object({ version: number, etag: text }),
    admission,
    limits,
    /** The prompt of the first call. The history of the session starts at `historyFrom`. */
    prompt: z.array(message),
    historyFrom: number,
    /** Notes on the prompt. */
    notes: z.array(text),
  }),
  eventOf('model_answered', {
    /** From 1. */
    step: number,
    startedAt: time,
    request: request.nullable(),
    input: promptSize.nullable(),
    text,
    reasoning: text,
    finish: text,
    usage: usage.nullable(),
    /** Parts of the provider that are sent back unread; JSON. */
    providerParts: text.exactOptional(),
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
    /** The provider's message. It can quote the prompt. */
    detail: textOrNull,
    charge: charge.nullable(),
  }),
  eventOf('model_refused', { reason: text }),
  eventOf('model_waited', { retryAt: time }),
  /** Comments joined the run, with the names of their authors. */
  eventOf('steered', {
    items: z.array(z.object({ author: text, isModeration: z.boolean(), text })),
  }),
  eventOf('tool_returned', {
    startedAt: time,
    durationMs: number,
    callId: text,
    name: text,
    /** As they ran. */
    arguments: text,
    text,
    isError: z.boolean(),
    resultBytes: number,
    grant: textOrNull,
    /** The decision of the gateway; null when the gateway was not called. */
    decision: textOrNull,
    /** Which standing rule allowed the call; absent: none did. */
    allowedBy: text.exactOptional(),
    hooks,
    /** The plan, when the call revised it. */
    plan: plan.exactOptional(),
  }),
  eventOf('tool_parked', { startedAt: time, callId: text, name: text, approval, hooks }),
  eventOf('parked', { isLost: z.boolean() }),
  eventOf('park_failed', {}),
  eventOf('resumed', { admission, decisions, isCancelled: z.boolean(), closed }),
  eventOf('compacted', {
    startedAt: time,
    summary: text,
    /** Number of messages that the summary replaced. */
    replaced: number,
    tokensBefore: number,
    tokens: number,
    charge: charge.nullable(),
    problem: textOrNull,
  }),
  eventOf('slept', {}),
  eventOf('time_ran_out', stop),
  eventOf('cancel_requested', stop),
  /** The server stopped and the run was resumed. `isEnded`: only the commit was left. */
  eventOf('interrupted', { charge: charge.nullable(), isEnded: z.boolean(), closed }),
  eventOf('commit_failed', {}),
  eventOf('committed', { isLost: z.boolean() }),
  /** Where the run of a program is. */
  eventOf('program_placed', { attempt: number, place: textAs<ProgramPlace>() }),
  /** A model request of a program; its outcome is `model_answered` or `model_failed`. */
  eventOf('request_admitted', { request: number, protocol: text }),
  eventOf('tools_listed', {}),
  /** A program calls a tool of the hub; `tool_returned` follows. */
  eventOf('program_called', { callId: text, name: text, arguments: text }),
  /** What a program wrote. Its own tools are notes. */
  eventOf('program_reported', {
    attempt: number,
    text,
    reasoning: text,
    notes: z.array(text),
    /** When it revised its plan. */
    plan: plan.exactOptional(),
    /** What it changed in its workspace. */
    changes: changes.exactOptional(),
  }),
  /** A call for which the program waited was decided in time. */
  eventOf('program_call_decided', {}),
  /** The program could not wait any longer for an approval, so the run parks. */
  eventOf('approval_overdue', {}),
  eventOf('program_lost', { attempt: number, reason: text }),
  /** `charge` is that of requests whose usage nobody reported. */
  eventOf('program_closed', { requests: number, charge: charge.nullable() }),
  eventOf('nobody_notified', {}),
  /** Stands for steps that were removed to make the log fit. */
  eventOf('omitted', { steps: number, charge }),
  /** The outcome. The last event; `at` is when it was decided. */
  eventOf('ended', {
    finishedAt: time.nullable(),
    outcome: text,
    error: z
      .object({ code: text, message: text, details: z.record(text, number).exactOptional() })
      .nullable(),
    warning: textOrNull,
    closed,
  }),
])

/** Names of the fields of each event. */
export const runEventFields = Object.fromEntries(
  runEvent.options.map(({ shape }) => [shape.type.value, Object.keys(shape)]),
) as Record<RunEvent['type'], string[]>

/**
 * One run as a list of events: the public form of its journal. It is complete: definition version,
 * parameters of each request and results of tools (a long result is a handle to its file), so that
 * the run can be replayed from it. Everything that people see of a run is a fold over its log.
 */
export const runLogSchema = z.object({
  version: z.literal(runLogVersion),
  events: z.array(runEvent),
  /** Long texts were truncated to make the log fit, so the run cannot be replayed. */
  isTruncated: z.literal(true).exactOptional(),
  /** It used the account that its requester connected, so its texts are for nobody else. */
  usesOwnAccount: z.literal(true).exactOptional(),
})

export type RunLog = z.output<typeof runLogSchema>
export type RunEvent = z.output<typeof runEvent>
export type RunEventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>

/** A call that a model requested, with the id that it runs with. */
export type RequestedCall = z.output<typeof requestedCall>

/** A call that an event ends without an outcome of its own. */
export type ClosedCall = z.output<typeof closedCall>

/** The agent's own plan after a revision. */
export type RevisedPlan = z.output<typeof plan>
