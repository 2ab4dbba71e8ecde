import type { LoopEvent } from '../../../src/agents/loop/event'
import type { Effect } from '../../../src/agents/loop/state'
import { foldConversation } from '../../../src/agents/loop/transcript'
import type { SteeringItem } from '../../../src/hub/contract/hub'
import type { AccountId, InboxItemId } from '../../../src/shared/ids'
import { charge, facts, parked } from './scenario'

/** Returns an outcome of an effect, chosen by a number; some are failures. */
export function outcome(
  effect: Effect,
  choice: number,
  at: number,
  events: LoopEvent[],
): LoopEvent {
  const base = { at, effectId: effect.id }
  switch (effect.type) {
    case 'load':
      return loadOutcome(base, choice)
    case 'sleep':
      return { ...base, at: effect.until, type: 'slept' }
    case 'commit':
      if (choice % 5 === 0) return { ...base, type: 'commit_failed', message: 'x', jitter: 0.5 }
      return {
        ...base,
        type: 'committed',
        kind: choice % 9 === 0 ? 'lost' : 'done',
        hasMore: false,
      }
    case 'park':
      if (choice % 5 === 0) return { ...base, type: 'park_failed', message: 'x', jitter: 0.5 }
      return { ...base, type: 'parked', kind: choice % 7 === 0 ? 'lost' : 'parked', hasMore: false }
    case 'steer':
      return { ...base, type: 'steered', items: choice % 3 === 0 ? [] : [joining(choice, events)] }
    case 'compact':
      return compactOutcome(base, choice, events)
    case 'call_tool':
      if (choice % 8 === 0) return parked(effect.id, effect.callId, at)
      return {
        ...base,
        type: 'tool_returned',
        callId: effect.callId,
        name: 't',
        text: `r:${effect.callId}`.padEnd(choice % 900, '.'),
        isError: choice % 3 === 0,
        startedAt: at,
        durationMs: 1,
        resultBytes: 1,
        audit: null,
      }
    case 'call_model':
      return modelOutcome(base, choice, at)
    case 'notify_nobody':
      return { ...base, type: 'nobody_notified' }
    case 'run_program':
    case 'close_program':
      throw new Error('a native agent runs no program')
  }
}

/** The same; now and then a renewal finds comments before a model call. */
export const steeredOutcome = (
  effect: Effect,
  choice: number,
  at: number,
  events: LoopEvent[],
): LoopEvent =>
  effect.type === 'call_model' && effect.mustRenew && choice % 5 === 0
    ? { type: 'steered', at, effectId: effect.id, items: [joining(choice, events)] }
    : outcome(effect, choice, at, events)

/** A comment that joins a run; of a moderator now and then. */
function joining(choice: number, events: LoopEvent[]): SteeringItem {
  const number = events.filter(({ type }) => type === 'steered').length
  return {
    id: `item-${number}` as InboxItemId,
    from: { id: 'mira' as AccountId, name: 'mira', kind: 'human' },
    commentId: null,
    text: `joined ${number} `.padEnd(choice % 300, '.'),
    isModeration: choice % 4 === 0,
    isUntrusted: choice % 4 === 0,
  }
}

const tasks = ['mention', 'exploration', 'scheduled', 'reply', 'dm', 'manual'] as const
const refusals = ['budget_exhausted', 'paused', 'lost', 'max_tokens'] as const
const finishes = [
  ...(['stop', 'tool-calls', 'tool-calls', 'stop', 'tool-calls', 'length'] as const),
  ...(['content-filter', 'interrupted', 'other', 'error', 'tool-calls'] as const),
]

type Base = { at: number; effectId: number }

function loadOutcome(base: Base, choice: number): LoopEvent {
  const { at } = base
  if (choice % 7 === 0) {
    const reason = choice % 77 === 0 ? 'capacity' : 'backup'
    return { ...base, type: 'load_waited', retryAt: at + 5, reason }
  }
  if (choice % 11 === 0)
    return {
      ...base,
      type: 'load_failed',
      code: 'HUB_UNREACHABLE',
      message: 'x',
      isHopeless: false,
    }
  if (choice % 41 === 0) return { ...base, type: 'load_found_nothing' }
  const task = tasks[choice % tasks.length] ?? 'mention'
  const isAsked = task !== 'exploration' && task !== 'scheduled'
  // one runs into its limits, the other into the hard ceilings
  const isLarge = choice % 5 < 2
  const history = Array.from({ length: choice % 4 }, (_, index) => [
    { role: 'user', text: `asked ${index}` } as const,
    { role: 'assistant', text: `said ${index}`, calls: [] } as const,
  ]).flat()
  const [soul = { role: 'system', text: '' } as const, taskMessage = soul] = facts().prompt
  return {
    ...base,
    type: 'loaded',
    facts: facts({
      task,
      prompt: [soul, ...history.map((each) => ({ ...each, calls: [] })), taskMessage],
      historyFrom: 1,
      limits: isLarge
        ? { iterations: 30, tokens: 400_000, durationMs: 600_000, contextTokens: 90_000 }
        : { iterations: 4, tokens: 1_500, durationMs: 4_000, contextTokens: 600 },
      ...(isAsked ? {} : { answer: null }),
    }),
  }
}

function compactOutcome(base: Base, choice: number, events: LoopEvent[]): LoopEvent {
  if (choice % 13 === 0) return { ...base, type: 'model_refused', reason: 'paused' }
  const { history, run } = foldConversation(events)
  const list = [...history, ...run]
  const cutPoints = list.flatMap(({ role }, index) => (role === 'tool' ? [] : [index]))
  const replaced =
    choice % 3 === 0 ? list.length : (cutPoints[choice % Math.max(1, cutPoints.length)] ?? 0)
  return {
    ...base,
    type: 'compacted',
    startedAt: base.at,
    summary: `summary ${choice}`,
    replaced,
    tokensBefore: 590,
    tokens: choice % 5 === 0 ? 590 : 100,
    entries: 3,
    charge: choice % 2 === 0 ? charge() : null,
    problem: null,
  }
}

function modelOutcome(base: Base, choice: number, at: number): LoopEvent {
  if (choice % 6 === 0) {
    const failure = {
      code: 'NETWORK',
      message: 'x',
      isRetryable: choice % 18 !== 0,
      retryAfterMs: null,
      mayBeCharged: true,
    } as const
    return { ...base, type: 'model_failed', startedAt: at, failure, charge: charge(), jitter: 0.3 }
  }
  if (choice % 13 === 0)
    return { ...base, type: 'model_refused', reason: refusals[choice % 4] ?? 'lost' }
  if (choice % 17 === 0) return { ...base, type: 'model_waited', retryAt: at + 3 }
  const count = choice % 7 === 3 ? choice % 23 : choice % 9
  const ids = Array.from({ length: count }, (_, index) =>
    choice % 5 === 0 ? 'same' : `c${(choice * 7 + index) % 40}`,
  )
  const finish = finishes[choice % finishes.length] ?? 'stop'
  const answer = {
    text: choice % 4 === 0 ? '' : choice % 10 === 1 ? 'PASS' : `text ${choice}`,
    reasoning: '',
    calls: ids.map((callId) => ({ callId, name: 't', arguments: '{}' })),
    finish,
    usage: null,
  }
  return {
    ...base,
    type: 'model_answered',
    startedAt: at,
    answer,
    charge: charge(choice % 3 === 0 ? 560 : 10),
    calls: ids.map((callId, index) => ({ callId, isSequential: index % 7 === 6 })),
  }
}
