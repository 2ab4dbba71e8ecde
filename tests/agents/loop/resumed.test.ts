import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { composeReply } from '../../../src/agents/loop/reply'
import { type Effect, initialState, type LoopState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import { charge, facts, woken } from './scenario'

/**
 * The answer of the model in each call: a number of tool calls, words, an empty answer, or a
 * failure that is retried.
 */
type AnswerKind = number | 'words' | 'empty' | 'fails'

/** Returns an outcome that depends on the effect alone, not on crashes. */
function outcomeOf(
  effect: Effect,
  answers: AnswerKind[],
  events: LoopEvent[],
  at: number,
): LoopEvent {
  const base = { at, effectId: effect.id }
  switch (effect.type) {
    case 'load': {
      const limits = { iterations: 30, tokens: 1e6, durationMs: 1e9, contextTokens: 1e6 }
      return { ...base, type: 'loaded', facts: facts({ limits }) }
    }
    case 'sleep':
      return { ...base, at: effect.until, type: 'slept' }
    case 'call_tool': {
      const { callId } = effect
      const text = `result of ${callId}`
      const measured = { startedAt: at, durationMs: 1, resultBytes: 1, audit: null }
      return {
        ...base,
        type: 'tool_returned',
        callId,
        name: 't',
        text,
        isError: false,
        ...measured,
      }
    }
    case 'call_model': {
      const made = events.filter(
        ({ type }) => type === 'model_answered' || type === 'model_failed',
      ).length
      return answer(base, answers[made] ?? 'words', made)
    }
    default:
      return { ...base, type: 'committed', kind: 'done', hasMore: false }
  }
}

function answer(
  base: { at: number; effectId: number },
  answerKind: AnswerKind,
  nth: number,
): LoopEvent {
  const startedAt = base.at
  if (answerKind === 'fails') {
    const failure = {
      ...({ code: 'NETWORK', message: 'x', isRetryable: true } as const),
      retryAfterMs: null,
      mayBeCharged: true,
    }
    return { ...base, type: 'model_failed', startedAt, failure, charge: charge(), jitter: 0 }
  }
  const ids =
    typeof answerKind === 'number'
      ? Array.from({ length: answerKind }, (_, i) => `c${nth}-${i}`)
      : []
  return {
    ...base,
    type: 'model_answered',
    startedAt,
    answer: {
      text: answerKind === 'empty' ? '' : `words ${nth}`,
      reasoning: '',
      calls: ids.map((callId) => ({ callId, name: 't', arguments: '{}' })),
      finish: ids.length > 0 ? 'tool-calls' : 'stop',
      usage: null,
    },
    charge: charge(),
    calls: ids.map((callId, index) => ({ callId, isSequential: index % 3 === 2 })),
  }
}

interface Ended {
  state: LoopState
  events: LoopEvent[]
  /** Number of outcomes; the machine can stop before each of them. */
  moments: number
}

/**
 * Runs to the commit. The machine stops before the outcomes in `crashes`, and another one resumes.
 */
function run(answers: AnswerKind[], crashes: Set<number>): Ended {
  let state = initialState
  let journal: string[] = []
  const read = () => journal.map((row) => JSON.parse(row) as LoopEvent)
  const apply = (event: LoopEvent) => {
    state = step(state, event).state
    journal = [...journal, JSON.stringify(event)]
  }
  apply(woken())
  let moments = 0
  for (; state.phase !== 'committing' && moments < 1_000; moments++) {
    if (crashes.has(moments)) {
      // the other machine has only the journal
      state = read().reduce((before, event) => step(before, event).state, initialState)
      const isAsleep = state.pending.every(({ type }) => type === 'sleep')
      if (!isAsleep) apply({ type: 'interrupted', at: moments, unknownCallIds: [], charge: null })
    }
    const [effect] = state.pending
    if (!effect) break
    apply(outcomeOf(effect, answers, read(), moments + 10))
  }
  return { state, events: read(), moments }
}

const answers = fc.array(
  fc.oneof(
    fc.integer({ min: 1, max: 18 }),
    fc.constantFrom<AnswerKind>('words', 'empty', 'fails', 'fails'),
  ),
  { maxLength: 8 },
)

test('L36: whenever and however often the machine stops, the run ends as without a crash', () => {
  let crashed = 0
  fc.assert(
    fc.property(answers, fc.array(fc.nat({ max: 120 }), { maxLength: 12 }), (list, at) => {
      const whole = run(list, new Set())
      const broken = run(list, new Set(at))
      crashed += broken.events.filter(({ type }) => type === 'interrupted').length
      expect(buildTranscript(broken.events)).toEqual(buildTranscript(whole.events))
      const { ending, iteration, tokens, microusd, promptTokens, toolCalls, errors } = whole.state
      expect(broken.state).toMatchObject({
        ending,
        iteration,
        tokens,
        microusd,
        promptTokens,
        toolCalls,
        errors,
      })
      expect(broken.moments).toBe(whole.moments)
      const reply = ({ state, events }: Ended) =>
        state.ending && composeReply(state.ending, events, ['mira'])
      expect(reply(broken)).toBe(reply(whole))
    }),
    { numRuns: 400 },
  )
  expect(crashed).toBeGreaterThan(100)
})
