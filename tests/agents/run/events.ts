import type { Trace } from '../../../src/agents/contract/agents'
import type { Charge, LoadedFacts, LoopEvent, LoopEventOf } from '../../../src/agents/loop/event'
import type { FinishReason } from '../../../src/agents/loop/message'
import type { Ending } from '../../../src/agents/loop/state'
import { composeRecord, openRun } from '../../../src/agents/run/record'
import type { AuditEntry } from '../../../src/hub/contract/hub'
import type { ActivationId, CommentId, PostId } from '../../../src/shared/ids'

/** Events of a journal with everything filled in that a test does not care about. */
export const start = Date.UTC(2026, 0, 2, 3, 4, 5)

export const charge = (over: Partial<Charge> = {}): Charge => ({
  inputTokens: 100,
  cachedTokens: 40,
  outputTokens: 20,
  reasoningTokens: 5,
  microusd: 700,
  isPriced: true,
  isEstimated: false,
  durationMs: 250,
  ...over,
})

const facts = (over: Partial<LoadedFacts> = {}): LoadedFacts => ({
  task: 'mention',
  admission: 'granted',
  reservation: { microusd: 1_000, tokens: 1_000 },
  isPriced: true,
  limits: { iterations: 4, tokens: 1_000, durationMs: 60_000, contextTokens: 100_000 },
  prompt: [
    { role: 'system', text: 'You are scout.' },
    { role: 'user', text: 'The task.' },
  ],
  historyFrom: 1,
  promptTokens: 20,
  agentName: 'scout',
  model: { id: 'anthropic/claude-sonnet-4-5', isOffline: false, substitutedFor: null },
  definition: { version: 3, etag: 'e' },
  answer: { postId: 'post' as PostId, parentId: null, requesters: ['mira'] },
  problem: null,
  ...over,
})

export const activationId = '019b7e5c-0001-7000-8000-0000000000aa' as ActivationId

export const woken = (at = start): LoopEvent => ({
  type: 'woken',
  at,
  activationId,
  replyId: 'reply' as CommentId,
  reportId: 'report' as PostId,
})

export const loaded = (at = start + 10, over: Partial<LoadedFacts> = {}): LoopEvent => ({
  type: 'loaded',
  at,
  effectId: 1,
  facts: facts(over),
})

type Fields<Type extends LoopEvent['type']> = Partial<Omit<LoopEventOf<Type>, 'type'>>

export const answered = (
  startedAt: number,
  callIds: string[],
  over: Fields<'model_answered'> & { text?: string; reasoning?: string } = {},
  finish: FinishReason = callIds.length > 0 ? 'tool-calls' : 'stop',
): LoopEvent => {
  const { text = callIds.length > 0 ? '' : 'Done.', reasoning = '', ...fields } = over
  return {
    type: 'model_answered',
    at: startedAt + 250,
    effectId: 2,
    startedAt,
    answer: {
      text,
      reasoning,
      calls: callIds.map((callId) => ({
        callId,
        name: 'hub_search',
        arguments: '{"query":"owls"}',
      })),
      finish,
      usage: null,
    },
    charge: charge(),
    calls: callIds.map((callId) => ({ callId, isSequential: false })),
    ...fields,
  }
}

export const failed = (startedAt: number, over: Fields<'model_failed'> = {}): LoopEvent => ({
  type: 'model_failed',
  at: startedAt + 50,
  effectId: 2,
  startedAt,
  failure: {
    code: 'PROVIDER_BUSY',
    message: 'Too many requests.',
    isRetryable: true,
    retryAfterMs: null,
    mayBeCharged: false,
  },
  charge: null,
  jitter: 0.5,
  ...over,
})

/** An entry of the gateway about a call. */
export const auditOf = (callId: string, over: Partial<AuditEntry> = {}): AuditEntry => ({
  callId,
  tool: 'hub_search',
  grant: 'hub:read',
  argumentsHash: 'hash',
  decision: 'allowed',
  outcome: over.decision === undefined ? 'ok' : null,
  durationMs: null,
  resultBytes: null,
  at: start,
  ...over,
})

export const returned = (
  callId: string,
  startedAt: number,
  over: Fields<'tool_returned'> = {},
): LoopEvent => ({
  type: 'tool_returned',
  at: startedAt + 30,
  effectId: 3,
  callId,
  name: 'hub_search',
  text: 'Nothing found.',
  isError: false,
  startedAt,
  durationMs: 30,
  resultBytes: 14,
  audit: auditOf(callId),
  ...over,
})

/** Returns a run as an owner sees it, from its journal. */
export function openJournal(
  events: LoopEvent[],
  ending: Ending | null = null,
  finishedAt: number | null = null,
): Trace {
  const trace = openRun(JSON.stringify(composeRecord(events, ending, finishedAt)), 'all', false)
  if (!trace) throw new Error('unreadable')
  return trace
}
