import fc from 'fast-check'
import { expect, test } from 'vitest'
import { composeReply } from '../../../src/agents/loop/reply'
import { initialState, isStopDeferred, type LoopState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import { outcomes } from '../../../src/shared/errors'
import { decisionsOf, driveSteered as drive, drive as driveUnsteered } from './drive'
import { Scenario } from './scenario'

const choices = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 60 })

test('the runs of these properties meet every event, every outcome and every ceiling', () => {
  const runs = fc
    .sample(choices, { seed: 1, numRuns: 1_000 })
    .map((list) => [...decisionsOf(drive([...list, 1], true).events)])
  const ends = runs.flatMap((run) => run.flatMap(({ after }) => after.ending?.outcome ?? []))
  expect([...new Set(ends)].sort()).toEqual([...outcomes].sort())
  const most = (read: (state: LoopState) => number) =>
    Math.max(...runs.flatMap((run) => run.map(({ after }) => read(after))))
  expect(most(({ calls }) => calls.length)).toBe(16)
  expect(most(({ pending }) => pending.length)).toBe(5)
  expect(most(({ compactions }) => compactions)).toBe(3)
  const met = new Set(runs.flatMap((run) => run.map(({ event }) => event.type)))
  expect([...met].sort()).toEqual(
    [
      'cancel_requested',
      'committed',
      'commit_failed',
      'compacted',
      'interrupted',
      'load_failed',
      'load_found_nothing',
      'load_waited',
      'loaded',
      'model_answered',
      'model_failed',
      'model_refused',
      'model_waited',
      'park_failed',
      'parked',
      'resumed',
      'slept',
      'steered',
      'time_ran_out',
      'tool_parked',
      'tool_returned',
      'woken',
    ].sort(),
  )
})

test('L1: whatever happens, in whatever order and how often, the loop ends with one commit', () => {
  fc.assert(
    fc.property(choices, fc.boolean(), (list, disturb) => {
      const run = drive(list.includes(0) ? list : [...list, 1], disturb)
      expect(run.state.phase).toBe('idle')
      const isEmpty = run.events.at(-1)?.type === 'load_found_nothing'
      expect(run.commits).toBe(isEmpty ? 0 : 1)
      expect(run.state.pending).toEqual([])
    }),
    { numRuns: 400 },
  )
})

test('L1: commits are retried until one succeeds', () => {
  const run = driveUnsteered([90795, 10749, 57413, 297, 1], false)
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

test('L8 L10 L24: no limit is exceeded at any moment', () => {
  fc.assert(
    fc.property(choices, fc.boolean(), (list, disturb) => {
      for (const decided of decisionsOf(drive([...list, 1], disturb).events)) {
        const { after, effects, event } = decided
        expect(after.iteration).toBeLessThanOrEqual(after.limits.iterations)
        expect(after.errors).toBeLessThanOrEqual(5)
        expect(after.compactions).toBeLessThanOrEqual(3)
        expect(after.calls.length).toBeLessThanOrEqual(16)
        expect(after.toolCalls).toBeLessThanOrEqual(100)
        // three retries; the failure after them ends it
        expect(after.retries).toBeLessThanOrEqual(after.ending ? 4 : 3)
        const running = after.calls.filter(({ status }) => status === 'running')
        expect(running.length).toBeLessThanOrEqual(running.some((c) => c.isSequential) ? 1 : 5)
        // what a crash left open is begun again under the limits that let it begin
        const isNew = event.type !== 'interrupted'
        if (!isNew || !effects.some((effect) => 'mustRenew' in effect)) continue
        expect(event.at).toBeLessThan(after.endsAt)
        expect(after.tokens + after.promptTokens).toBeLessThan(after.limits.tokens)
      }
    }),
    { numRuns: 600 },
  )
})

test('L36: no call is begun again once it has its result', () => {
  fc.assert(
    fc.property(choices, fc.boolean(), (list, disturb) => {
      const { events } = drive([...list, 1], disturb)
      const ran = events.flatMap((each) => (each.type === 'tool_returned' ? [each.callId] : []))
      expect(new Set(ran).size).toBe(ran.length)
    }),
    { numRuns: 400 },
  )
})

test('L34: a stop ends a running activation at once, and open calls get a result that says so', () => {
  const stops = new Set<string>()
  fc.assert(
    fc.property(choices, (list) => {
      const { events } = drive([...list, 89, 1], true)
      for (const { before, event, after } of decisionsOf(events)) {
        const isStop =
          (event.type === 'cancel_requested' && !isStopDeferred(before)) ||
          (event.type === 'resumed' && (event.isCancelled || before.isCancelled))
        if (!isStop) continue
        stops.add(before.phase)
        expect(after.ending?.outcome).toBe('cancelled')
        expect(after.pending.map(({ type }) => type)).toEqual(['commit'])
        const decided = event.type === 'resumed' ? event.decisions : []
        const isRefused = (id: string) =>
          decided.some(({ callId, decision }) => callId === id && decision !== 'approved')
        const open = before.calls.filter(
          ({ callId, status }) => status !== 'done' && !isRefused(callId),
        )
        const results = buildTranscript(events).flatMap((each) =>
          each.role === 'tool' ? each.results : [],
        )
        for (const { callId } of open) {
          const output = results.find((result) => result.callId === callId)
          expect(output).toMatchObject({
            text: 'Error: operation cancelled by user.',
            isError: true,
          })
        }
      }
    }),
    { numRuns: 600, seed: 7 },
  )
  expect([...stops].sort()).toEqual(['acting', 'compacting', 'parked', 'reasoning'])
})

test('L34: a run that was cancelled is valid history', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const { events } = drive([...list, 89, 1], true)
      fc.pre(events.some(({ type }) => type === 'cancel_requested'))
      const messages = buildTranscript(events)
      for (const [index, message] of messages.entries()) {
        const before = messages[index - 1]
        const callIds = before?.role === 'assistant' ? before.calls.map(({ callId }) => callId) : []
        const answered = message.role === 'tool' ? message.results.map(({ callId }) => callId) : []
        expect(answered).toEqual(callIds)
      }
      const last = messages.at(-1)
      expect(last?.role === 'assistant' ? last.calls : []).toEqual([])
    }),
    { numRuns: 200 },
  )
})

test('L20: whatever is compacted, the system layers and the task stay, and no call loses its result', () => {
  fc.assert(
    fc.property(choices, fc.boolean(), (list, disturb) => {
      const { events } = drive([...list, 1], disturb)
      const loaded = events.find((event) => event.type === 'loaded')
      fc.pre(loaded !== undefined)
      const messages = buildTranscript(events)
      expect(messages[0]).toEqual({ role: 'system', text: 'soul' })
      expect(messages).toContainEqual({ role: 'user', text: 'task' })
      expect(messages.filter(({ role }) => role === 'system')).toHaveLength(1)
    }),
    { numRuns: 300 },
  )
})

test('L30: parking changes nothing but time: the run is the one that needed no approval', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.nat({ max: 63 }), (calls, mask) => {
      const ids = Array.from({ length: calls }, (_, index) => `c${index}`)
      const isParked = (index: number) => (mask >> index) % 2 === 1
      const begin = () => new Scenario().wake().load().answer('', ids)
      const parkedRun = begin()
      for (let guard = 0; parkedRun.runningCalls().length > 0 && guard < 50; guard++) {
        const id = parkedRun.runningCalls()[0] ?? ''
        if (isParked(ids.indexOf(id))) parkedRun.parkTool(id)
        else parkedRun.returnTool(id)
      }
      if (mask % 2 ** calls > 0) {
        parkedRun.park()
        parkedRun.at += 86_400_000
        parkedRun.resume(ids.map((callId) => ({ callId })))
        while (parkedRun.runningCalls().length > 0)
          parkedRun.returnTool(parkedRun.runningCalls()[0] ?? '')
      }
      const free = begin()
      while (free.runningCalls().length > 0) free.returnTool(free.runningCalls()[0] ?? '')
      expect(buildTranscript(parkedRun.events)).toEqual(buildTranscript(free.events))
      const { phase, iteration, tokens, promptTokens, entries, callIds } = free.state
      expect(parkedRun.state).toMatchObject({
        phase,
        iteration,
        tokens,
        promptTokens,
        entries,
        callIds,
      })
    }),
    { numRuns: 200 },
  )
})

test('L14: the transcript of a step is a prefix of the next one, until a compaction', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const { events } = drive([...list, 1], false)
      let before: string[] = []
      for (const [index, event] of events.entries()) {
        if (event.type === 'compacted') before = []
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

test('L35 L7: a task without a requester posts nothing, whatever its ending', () => {
  fc.assert(
    fc.property(choices, (list) => {
      const { events } = drive([...list, 1], true)
      let current = initialState
      for (const event of events) {
        current = step(current, event).state
        if (current.ending && (current.task === 'exploration' || current.task === 'scheduled'))
          expect(current.ending.reply).toBe('silent')
      }
    }),
    { numRuns: 200 },
  )
})

test('L35: the requester gets a reply for every outcome', () => {
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
