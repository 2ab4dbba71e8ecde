import * as z from 'zod'
import type {
  LastCall,
  SessionFacts,
  SessionMessage,
  SessionSnapshot,
  TokenCounters,
} from '../../agents/contract/agents'
import { memoryLimits } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'
import { countAnswer, microusdAnswer, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'

const count = z.int().min(0)
const text = z.string().max(100_000)
const name = z.string().min(1).max(64)

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), text }),
  z.strictObject({
    role: z.literal('assistant'),
    text,
    calls: z.array(z.strictObject({ call_id: name, name, arguments: text })).default([]),
  }),
  z.strictObject({
    role: z.literal('tool'),
    results: z.array(z.strictObject({ call_id: name, name, text, is_error: z.boolean() })).min(1),
  }),
])
type MessageInput = z.output<typeof message>

const counters = {
  input_tokens: count.default(0),
  cached_tokens: count.default(0),
  output_tokens: count.default(0),
  cost_microusd: count.default(0),
}

const lastCallFields = {
  last_prompt_tokens: count.nullable(),
  last_completion_tokens: count.nullable(),
  context_limit: count.nullable(),
}

/** A snapshot as GET returns it; its id and the time of its last change are those of the restored session. */
export const snapshotInput = knownFields({
  id: z.string().max(memoryLimits.sessionIdCharsMax).optional(),
  updated_at: z.iso.datetime().optional(),
  summary: z.string().max(memoryLimits.summaryCharsMax).default(''),
  activations: count.default(0),
  ...counters,
  ...z.object(lastCallFields).partial().shape,
  created_at: z.iso.datetime().optional(),
  messages: z
    .array(message)
    .max(memoryLimits.restoredMessagesMax)
    .superRefine((messages, context) => {
      const unpaired = findUnpaired(messages)
      if (unpaired === null) return
      context.addIssue({
        code: 'custom',
        path: [unpaired],
        message: 'Tool calls must be followed by their results: one per call, in the same order',
      })
    }),
})

/**
 * Returns the index of the first message whose calls and results do not match, which model providers
 * reject; null when all match.
 */
function findUnpaired(messages: MessageInput[]): number | null {
  let open: string[] = []
  for (const [index, each] of messages.entries()) {
    const answered = each.role === 'tool' ? each.results.map((result) => result.call_id) : []
    if (answered.join('\n') !== open.join('\n')) return index
    open = each.role === 'assistant' ? each.calls.map((call) => call.call_id) : []
  }
  return open.length > 0 ? messages.length - 1 : null
}

/** Converts the input of a restore to a snapshot; `createdAt` defaults to now. */
export function toSnapshot(
  id: string,
  input: z.output<typeof snapshotInput>,
  now: number,
): SessionSnapshot {
  const createdAt = input.created_at === undefined ? now : Date.parse(input.created_at)
  return {
    id,
    summary: input.summary,
    activations: input.activations,
    inputTokens: input.input_tokens,
    cachedTokens: input.cached_tokens,
    outputTokens: input.output_tokens,
    costMicrousd: input.cost_microusd,
    lastCall: toLastCall(input),
    createdAt,
    updatedAt: now,
    privateTo: [],
    hasShared: true,
    messages: input.messages.map(toMessage),
  }
}

function toLastCall(input: z.output<typeof snapshotInput>): LastCall | null {
  const promptTokens = input.last_prompt_tokens
  const completionTokens = input.last_completion_tokens
  const contextLimit = input.context_limit
  if (promptTokens == null || completionTokens == null || contextLimit == null) return null
  return { promptTokens, completionTokens, contextLimit }
}

function toMessage(input: MessageInput): SessionMessage {
  switch (input.role) {
    case 'user':
      return input
    case 'assistant':
      return {
        ...input,
        calls: input.calls.map(({ call_id, ...call }) => ({ callId: call_id, ...call })),
      }
    case 'tool':
      return {
        role: 'tool',
        results: input.results.map(({ call_id, is_error, ...result }) => ({
          callId: call_id,
          ...result,
          isError: is_error,
        })),
      }
  }
}

const countersAnswer = {
  input_tokens: countAnswer,
  cached_tokens: countAnswer,
  output_tokens: countAnswer,
  cost_microusd: microusdAnswer,
}

export const totalsAnswer = z.object({ activations: countAnswer, ...countersAnswer })

export const sessionFactsAnswer = totalsAnswer.extend({
  id: z.string().describe('`{channel}_{chat_id}`.'),
  summary: z.string().describe('Summary of the compacted messages; empty when there are none.'),
  last_prompt_tokens: lastCallFields.last_prompt_tokens.describe(
    'Tokens of the last prompt; null until a model has answered.',
  ),
  last_completion_tokens: lastCallFields.last_completion_tokens.describe(
    'Tokens of the last answer of the model.',
  ),
  context_limit: lastCallFields.context_limit.describe(
    'Tokens that the context window of that model holds.',
  ),
  created_at: timeAnswer,
  updated_at: timeAnswer,
})

export const sessionAnswer = sessionFactsAnswer
  .extend({ messages: z.array(message) })
  .meta({ id: 'Session' })

export const presentTotals = presenterOf(totalsAnswer).from<
  TokenCounters & { activations: number }
>({})

export const presentSessionFacts = presenterOf(sessionFactsAnswer).from<
  Omit<SessionFacts, 'messageCount' | 'privateTo' | 'hasShared'>
>({
  last_prompt_tokens: ({ lastCall }) => lastCall?.promptTokens ?? null,
  last_completion_tokens: ({ lastCall }) => lastCall?.completionTokens ?? null,
  context_limit: ({ lastCall }) => lastCall?.contextLimit ?? null,
})

export function presentMessage(stored: SessionMessage): z.input<typeof message> {
  switch (stored.role) {
    case 'user':
      return stored
    case 'assistant':
      return {
        ...stored,
        calls: stored.calls.map(({ callId, ...call }) => ({ call_id: callId, ...call })),
      }
    case 'tool':
      return {
        role: 'tool',
        results: stored.results.map(({ callId, isError, ...result }) => ({
          call_id: callId,
          ...result,
          is_error: isError,
        })),
      }
  }
}
