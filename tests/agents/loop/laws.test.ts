import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Effect } from '../../../src/agents/loop/effect'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { composeReply } from '../../../src/agents/loop/reply'
import { initialState, type LoopState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import { charge, facts, woken } from './scenario'

/** One outcome of an effect, chosen by a number; some of them are trouble. */
function outcome(effect: Effect, choice: number, at: number): LoopEvent {
  const base = { at, effectId: effect.id }
  switch (effect.type) {
    case 'load':
      if (choice % 7 === 0)
        return { ...base, type: 'load_waited', retryAt: at + 5, reason: 'capacity' }
      if (choice % 11 === 0)
        return { ...base, type: 'load_failed', code: 'X', message: 'x', isHopeless: false }
      return { ...base, type: 'loaded', facts: facts() }
    case 'sleep':
      return { ...base, at: effect.until, type: 'slept' }
    case 'commit':
      if (choice % 5 === 0) return { ...base, type: 'commit_failed', message: 'x', jitter: 0.5 }
      return { ...base, type: 'committed', kind: 'done', hasMore: false }
    case 'call_tool':
      return {
        ...base,
        type: 'tool_returned',
        callId: effect.callId,
        name: 't',
        text: `r:${effect.callId}`,
        isError: choice % 3 === 0,
        startedAt: at,
        durationMs: 1,
        resultBytes: 1,
        audit: null,
      }
    case 'park':
      return { ...base, type: 'parked', kind: 'lost', hasMore: false }
    case 'compact':
      return { ...base, type: 'park_failed', message: 'x', jitter: 1 }
    case 'call_model':
      return modelOutcome(base, choice, at)
  }
}

function modelOutcome(
  base: { at: number; effectId: number },
  choice: number,
  at: number,
): LoopEvent {
  if (choice % 6 === 0) {
    const failure = {
      code: 'NETWORK',
      message: 'x',
      isRetryable: choice % 4 === 0,
      retryAfterMs: null,
      mayBeCharged: true,
    } as const
    return { ...base, type: 'model_failed', startedAt: at, failure, charge: charge(), jitter: 0.3 }
  }
  if (choice % 13 === 0) return { ...base, type: 'model_refused', reason: 'budget_exhausted' }
  if (choice % 17 === 0) return { ...base, type: 'model_waited', retryAt: at + 3 }
  const ids = Array.from({ length: choice % 9 }, (_, index) =>
    choice % 5 === 0 ? 'same' : `c${(choice * 7 + index) % 40}`,
  )
  const finish =
    (['stop', 'tool-calls', 'length', 'content-filter', 'interrupted', 'other'] as const)[
      choice % 6
    ] ?? 'stop'
  const answer = {
    text: choice % 4 === 0 ? '' : `text ${choice}`,
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
    charge: charge(),
    calls: ids.map((callId, index) => ({ callId, isSequential: index % 4 === 3 })),
  }
}

interface Run {
  state: LoopState
  events: LoopEvent[]
  commits: number
  steps: number
}

/** Drives the loop to its end with arbitrary outcomes, disturbances, late and doubled events. */
function drive(choices: number[], disturb: boolean): Run {
  const run: Run = { state: initialState, events: [], commits: 0, steps: 0 }
  const past: LoopEvent[] = []
  const apply = (event: LoopEvent) => {
    const next = step(run.state, event)
    if (next.state === run.state) return
    run.state = next.state
    run.events.push(event)
    if (event.type === 'committed') run.commits++
  }
  apply(woken())
  let at = 10
  for (let index = 0; run.state.phase !== 'idle' && index < 2_000; index++) {
    const choice = choices[index % choices.length] ?? 1
    at += 1
    if (disturb && choice % 19 === 0)
      apply({ type: 'interrupted', at, unknownCallIds: unknown(run.state), charge: null })
    if (disturb && choice % 23 === 0) apply(past[choice % Math.max(1, past.length)] ?? woken(at))
    const effect = run.state.pending[choice % Math.max(1, run.state.pending.length)]
    if (!effect) break
    // trouble does not last for ever: a hub that never comes back is waited for without end
    const event = outcome(effect, index > 300 ? 1 : choice + index, at)
    at = Math.max(at, event.at)
    past.push(event)
    apply(event)
    if (disturb && choice % 3 === 0) apply(event)
    run.steps++
  }
  return run
}

const unknown = (state: LoopState): string[] =>
  state.pending
    .flatMap((effect) => (effect.type === 'call_tool' ? [effect.callId] : []))
    .slice(0, 1)

const choices = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 60 })

test('L1: whatever happens, in whatever order and how often, the loop ends with one commit', () => {
  fc.assert(
    fc.property(choices, fc.boolean(), (list, disturb) => {
      const run = drive(list.includes(0) ? list : [...list, 1], disturb)
      expect(run.state.phase).toBe('idle')
      expect(run.commits).toBeLessThanOrEqual(1)
      expect(run.state.pending).toEqual([])
    }),
    { numRuns: 400 },
  )
})

test('L1: a stretch in which every commit fails is outlasted', () => {
  const run = drive([90795, 10749, 57413, 297, 1], false)
  expect(run.events.filter(({ type }) => type === 'commit_failed').length).toBeGreaterThan(10)
  expect(run.state.phase).toBe('idle')
})

test('L4 invariant 5: every tool call has exactly one result, in call order', () => {
  fc.assert(
    fc.property(choices, fc.boolean(), (list, disturb) => {
      const seen = new Set<string>()
      const messages = buildTranscript(drive([...list, 1], disturb).events)
      for (const [index, message] of messages.entries()) {
        if (message.role !== 'assistant' || message.calls.length === 0) continue
        const next = messages[index + 1]
        expect(next?.role).toBe('tool')
        const ids = message.calls.map(({ callId }) => callId)
        if (next?.role === 'tool') expect(next.results.map(({ callId }) => callId)).toEqual(ids)
        for (const id of ids) {
          expect(seen.has(id)).toBe(false)
          seen.add(id)
        }
      }
    }),
    { numRuns: 400 },
  )
})

test('L8 L10: no limit is exceeded', () => {
  fc.assert(
    fc.property(choices, fc.boolean(), (list, disturb) => {
      const { events } = drive([...list, 1], disturb)
      const answers = events.filter(({ type }) => type === 'model_answered').length
      const failures = events.filter(({ type }) => type === 'model_failed').length
      expect(answers).toBeLessThanOrEqual(4)
      expect(failures).toBeLessThanOrEqual(5)
    }),
    { numRuns: 400 },
  )
})

test('L14: the transcript of a step is a prefix of the next one', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const { events } = drive([...list, 1], false)
      let before: string[] = []
      for (const [index, event] of events.entries()) {
        if (event.type !== 'model_answered') continue
        const now = buildTranscript(events.slice(0, index)).map((message) =>
          JSON.stringify(message),
        )
        expect(now.slice(0, before.length)).toEqual(before)
        before = now
      }
    }),
    { numRuns: 200 },
  )
})

test('L36: a run resumed from its journal equals the uninterrupted one', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const { events, state } = drive([...list, 1], true)
      const replayed = events.reduce(
        (before, event) => step(before, structuredClone(event)).state,
        initialState,
      )
      expect(replayed).toEqual(state)
    }),
    { numRuns: 200 },
  )
})

test('L35: who asked gets words for every outcome', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const { events } = drive([...list, 1], true)
      let current = initialState
      for (const event of events) {
        current = step(current, event).state
        if (!current.ending || current.ending.reply === 'silent') continue
        const reply = composeReply(current.ending, events, ['mira'])
        expect(reply?.trim().length).toBeGreaterThan(5)
        expect(reply).toContain('@mira')
      }
    }),
    { numRuns: 200 },
  )
})
