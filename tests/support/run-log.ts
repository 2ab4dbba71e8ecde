import type { Trace } from '../../src/agents/contract/agents'
import { type RunEvent, type RunEventOf, runLogVersion } from '../../src/agents/run/run-event'
import { openRun } from '../../src/agents/run/stored-log'
import type { ActivationId } from '../../src/shared/ids'

/** Logs of runs as the hub stores them, with everything filled in that a test does not care about. */
export const toStoredLog = (events: RunEvent[]): string =>
  JSON.stringify({ version: runLogVersion, events })

/** Returns a stored run as its owner sees it. */
export function openTrace(stored: string | null | undefined): Trace {
  const trace = openRun(stored ?? '', 'all', false)
  if (!trace) throw new Error(`not a log: ${stored?.slice(0, 100)}`)
  return trace
}

type Fields<Type extends RunEvent['type']> = Partial<Omit<RunEventOf<Type>, 'type'>>

export const charge = (over: Partial<RunEventOf<'model_answered'>['charge']> = {}) => ({
  ...{ inputTokens: 3, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0, microusd: 30 },
  ...{ isPriced: true, isEstimated: false, durationMs: 20, ...over },
})

export const woken = (activationId: string, at = 1_000): RunEvent => ({
  type: 'woken',
  at,
  activationId: activationId as ActivationId,
})

export const loaded = (over: Fields<'loaded'> = {}): RunEvent => ({
  ...{ type: 'loaded', at: 1_000, agent: 'scout', task: 'mention', session: null, goal: null },
  model: { id: 'test/model', isOffline: false, substitutedFor: null },
  ...{ definition: { version: 1, etag: 'e' }, admission: 'granted' },
  limits: { iterations: 9, tokens: 99_999, durationMs: 60_000, contextTokens: 100_000 },
  ...{ prompt: [], historyFrom: 0, notes: [], requesters: [] },
  ...over,
})

/** An answer of the model, which took 20 ms unless `at` says otherwise. */
export const answered = (over: Fields<'model_answered'> = {}): RunEvent => {
  const { startedAt = 1_000, calls = [] } = over
  return {
    ...{ type: 'model_answered', at: startedAt + 20, step: 1, startedAt, calls },
    ...{ request: null, input: null, text: '', reasoning: '', usage: null, warning: null },
    ...{ finish: calls.length > 0 ? 'tool-calls' : 'stop', charge: charge(), hooks: [] },
    ...over,
  }
}

export const requested = (callId: string, name: string, args = '{}') => ({
  ...{ callId, name, arguments: args, isSequential: false, refusal: null },
})

export const returned = (callId: string, over: Fields<'tool_returned'> = {}): RunEvent => {
  const { startedAt = 1_020 } = over
  return {
    ...{ type: 'tool_returned', at: startedAt + 5, startedAt, durationMs: 5, callId },
    ...{ name: 'hub_search', arguments: '{}', text: '', isError: false, resultBytes: 0 },
    ...{ grant: 'hub:read', decision: 'allowed', hooks: [] },
    ...over,
  }
}

export const ended = (over: Fields<'ended'> = {}): RunEvent => ({
  ...{ type: 'ended', at: 2_000, finishedAt: 2_000, outcome: 'completed', error: null },
  ...{ warning: null, closed: [] },
  ...over,
})
