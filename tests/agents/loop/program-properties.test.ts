import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sumOpen } from '../../../src/agents/loop/program'
import { composeReply } from '../../../src/agents/loop/reply'
import { initialState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import { decisionsOf } from './drive'
import { choices, drive } from './program-drive'

test('X1: the runs of these properties meet every event, outcome and phase of a program', () => {
  const runs = fc.sample(choices, { seed: 3, numRuns: 3_000 }).map((list) => drive(list))
  const met = new Set(runs.flatMap((events) => events.map(({ type }) => type)))
  for (const type of [
    'program_placed',
    'program_lost',
    'program_closed',
    'nobody_notified',
    'steered',
    'program_call_waits',
    'program_call_decided',
    'parked',
    'resumed',
    'tool_returned',
  ]) {
    expect([...met]).toContain(type)
  }
  const decided = runs.flatMap((events) => [...decisionsOf(events)])
  const outcomes = new Set(decided.flatMap(({ after }) => after.ending?.outcome ?? []))
  expect([...outcomes].sort()).toEqual([
    'budget_exhausted',
    'cancelled',
    'completed',
    'content_filtered',
    'failed',
    'max_duration',
    'max_iterations',
    'max_tokens',
  ])
  const attempts = decided.map(({ after }) => after.program?.attempt ?? 0)
  expect(Math.max(...attempts)).toBeGreaterThan(3)
  const codes = new Set(decided.flatMap(({ after }) => after.ending?.error?.code ?? []))
  for (const code of ['NO_TOOLS', 'INTERRUPTED', 'PROVIDER_ERROR', 'TIMEOUT', 'CONTENT_FILTERED']) {
    expect([...codes]).toContain(code)
  }
})

test('X1: whatever happens, in whatever order and how often, there is one commit, with a reply', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const events = drive(list)
      expect(events.filter(({ type }) => type === 'committed')).toHaveLength(1)
      const ending = [...decisionsOf(events)].at(-1)?.before.ending
      if (!ending || ending.reply === 'silent') return
      expect(composeReply(ending, events, ['mira'])?.length).toBeGreaterThan(5)
    }),
    { numRuns: 500 },
  )
})

test('X1 X4: every admitted request is charged once: its usage, or its worst case when nobody reports it', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const events = drive(list)
      const admitted = events.filter(({ type }) => type === 'request_admitted').length
      const settled = events.filter(({ type }) => type === 'request_settled')
      const lost = events.flatMap((event) =>
        event.type === 'program_closed' ? event.requests : [],
      )
      expect(settled.length + lost.length).toBe(admitted)
      let spent = 0
      for (const event of events) if ('charge' in event) spent += event.charge?.microusd ?? 0
      const last = [...decisionsOf(events)].at(-1)?.before
      expect(last?.microusd).toBe(spent)
      expect(last?.program?.open).toEqual([])
    }),
    { numRuns: 500 },
  )
})

test('X13: after a write no attempt begins without its session, and none begins while a write is in doubt', () => {
  fc.assert(
    fc.property(choices, (list) => {
      for (const { before, after, effects } of decisionsOf(drive(list))) {
        const { program } = after
        const isLoss = (program?.losses ?? 0) > (before.program?.losses ?? 0)
        if (!program || !isLoss || !effects.some(({ type }) => type === 'run_program')) continue
        expect(program.losses).toBeLessThanOrEqual(3)
        if (program.writes === 0) continue
        expect(program.sessionId).not.toBeNull()
        expect(program.mustResume).toBe(true)
        expect(before.program?.calls.some(({ isWrite }) => isWrite)).toBe(false)
      }
    }),
    { numRuns: 500 },
  )
})

test('X6 X13: a run parks without a program and without a call in doubt, and an approved call runs once', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const events = drive(list)
      const made = new Map<string, number>()
      for (const { before, after, effects } of decisionsOf(events)) {
        for (const effect of effects) {
          if (effect.type !== 'call_tool') continue
          made.set(effect.callId, (made.get(effect.callId) ?? 0) + 1)
        }
        if (after.phase !== 'parking' || before.phase === 'parking') continue
        expect(after.pending.map(({ type }) => type)).toEqual(['park'])
        expect(after.program).toMatchObject({ open: [], calls: [] })
        expect(after.calls.length).toBeGreaterThan(0)
        // it can go on only with its session, or when it has written nothing
        expect(after.program?.sessionId !== null || after.program.writes === 0).toBe(true)
      }
      expect(Math.max(0, ...made.values())).toBeLessThanOrEqual(1)
    }),
    { numRuns: 500 },
  )
})

test('X4: an answer is only posted when the hub has seen its tools listed and a last request that stopped', () => {
  fc.assert(
    fc.property(choices, (list) => {
      for (const { before, after } of decisionsOf(drive(list))) {
        if (!after.ending || before.ending || after.ending.reply !== 'answer') continue
        // the answer that stands when no comment joined was judged before
        expect(after.program).toMatchObject({ hasListedTools: true, last: { finish: 'stop' } })
        expect(after.program?.end).toMatchObject({ end: 'end_turn', is_success: true })
        expect(after.program && sumOpen(after.program).tokens).toBe(0)
      }
    }),
    { numRuns: 500 },
  )
})

test("X4: a request for another model than the run's judges the turn only where there is no other", () => {
  let met = 0
  fc.assert(
    fc.property(choices, (list) => {
      for (const { before, after } of decisionsOf(drive(list))) {
        const [last, next] = [before.program?.last, after.program?.last]
        if (!last || !next || before.program?.attempt !== after.program?.attempt) continue
        met += before.program?.open.some(
          ({ isAside, request }) => isAside && request > last.request,
        )
          ? 1
          : 0
        expect(!last.isAside && next.isAside, 'a title in place of an answer').toBeFalsy()
      }
    }),
    { seed: 3, numRuns: 3_000 },
  )
  expect(met).toBeGreaterThan(20)
})

test('X1: a run resumed from its journal equals the uninterrupted one', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const events = drive(list)
      const replayed = events.reduce(
        (before, event) => step(before, structuredClone(event)).state,
        initialState,
      )
      expect(replayed.phase).toBe('idle')
    }),
    { numRuns: 100 },
  )
})
