import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RunAccess } from '../../../src/agents/contract/agents'
import type { LoopEvent } from '../../../src/agents/loop/event'
import type { Ending } from '../../../src/agents/loop/state'
import { toRuntimeEvents as foldEvents } from '../../../src/agents/run/live-events'
import { redactRunLog } from '../../../src/agents/run/redact'
import { toRunLog } from '../../../src/agents/run/run-log'
import { Scenario } from '../loop/scenario'
import { openJournal } from './events'

const toRuntimeEvents = (events: LoopEvent[], ending: Ending | null, access: RunAccess = 'all') =>
  foldEvents(redactRunLog(toRunLog(events, ending), access))

const typesOf = (events: LoopEvent[], ending: Ending | null = null) =>
  toRuntimeEvents(events, ending).map(({ type }) => type)

/** Two steps with tools, then an answer. */
const finished = () =>
  new Scenario()
    .wake()
    .load()
    .answer('Let me look.', ['a', 'b'])
    .returnTool('b')
    .returnTool('a')
    .answer('Here it is.')

describe('L42: runtime events', () => {
  test('L42: an event has seq, activation, time and kind; seq has no gaps', () => {
    const scenario = finished()
    const events = toRuntimeEvents(scenario.events, scenario.state.ending)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    for (const event of events) {
      expect(event.activation_id).toBe('activation')
      expect(event.at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
      expect(['task', 'model', 'tool', 'metrics', 'warning', 'plan']).toContain(event.kind)
    }
    expect(typesOf(scenario.events, scenario.state.ending)).toEqual([
      'woken',
      'started',
      'step-finish',
      'usage',
      'tool-call',
      'tool-call',
      'plan',
      'tool-result',
      'plan',
      'tool-result',
      'plan',
      'step-finish',
      'usage',
      'response',
    ])
  })

  test('L42: events stay the same however the journal continues', () => {
    const happening = fc.constantFrom(
      (s: Scenario) => s.answer('text', [`call-${s.at}`, `call-${s.at + 1}`]),
      (s: Scenario) => s.answer('done'),
      (s: Scenario) => s.answer('cut', ['x', 'y'], 'length'),
      (s: Scenario) => s.returnTool(s.runningCalls()[0] ?? 'none'),
      (s: Scenario) => s.failModel(),
      (s: Scenario) => s.sleep(),
      (s: Scenario) => s.apply({ type: 'cancel_requested', at: s.at++, charge: null }),
      (s: Scenario) =>
        s.apply({
          type: 'interrupted',
          at: s.at++,
          unknownCallIds: s.runningCalls().slice(0, 1),
          charge: null,
          ...(s.state.ending ? { isEnded: true } : {}),
        }),
      (s: Scenario) =>
        s.apply({ ...(finished().events[0] as LoopEvent & { type: 'woken' }), at: s.at++ }),
      (s: Scenario) =>
        s.apply({
          type: 'commit_failed',
          at: s.at++,
          effectId: s.only('commit'),
          message: 'away',
          jitter: 0,
        }),
    )
    void fc.assert(
      fc.property(fc.array(happening, { maxLength: 14 }), (happenings) => {
        const scenario = new Scenario().wake().load()
        let told = toRuntimeEvents(scenario.events, null)
        for (const happen of happenings) {
          try {
            happen(scenario)
          } catch {
            continue // not possible in this state
          }
          // As a new machine reads it.
          const journal = JSON.parse(JSON.stringify(scenario.events))
          const now = toRuntimeEvents(journal, scenario.state.ending)
          expect(now.slice(0, told.length)).toEqual(told)
          expect(now.map(({ seq }) => seq)).toEqual(now.map((_, index) => index + 1))
          told = now
        }
        const ended = told.findIndex(({ type }) => type === 'response')
        if (ended >= 0) expect(ended).toBe(told.length - 1)
      }),
      { numRuns: 300 },
    )
  })

  test('L4 L34 L42: each call has one result, also when it is cancelled', () => {
    const scenario = new Scenario().wake().load().answer('', ['a', 'b', 'c']).returnTool('b')
    scenario.apply({ type: 'cancel_requested', at: 9, charge: null })
    const events = toRuntimeEvents(scenario.events, scenario.state.ending)
    const results = events.flatMap((event) => (event.type === 'tool-result' ? [event] : []))
    expect(results.map(({ call_id }) => call_id)).toEqual(['b', 'a', 'c'])
    expect(results[1]?.text).toContain('cancelled by user')
    expect(events.at(-1)).toMatchObject({ kind: 'task', type: 'response', outcome: 'cancelled' })
    expect(events.some(({ kind }) => kind === 'warning')).toBe(true)
  })

  test('L30 L42: parking and resuming are events; a denial is the result of the call', () => {
    const base = new Scenario().wake().load().answer('', ['a', 'b'])
    const approval = {
      callId: 'a',
      tool: 't',
      grant: 'g',
      tier: 'write',
      arguments: '{}',
      argumentsHash: 'h',
    }
    const events = [
      ...base.events,
      {
        type: 'tool_parked',
        at: 5,
        effectId: 3,
        callId: 'a',
        name: 't',
        startedAt: 4,
        approval,
        audit: null,
      },
      { type: 'parked', at: 6, effectId: 9, kind: 'parked', hasMore: false },
      {
        type: 'resumed',
        at: 7,
        activationId: 'activation',
        admission: 'granted',
        decisions: [{ callId: 'a', decision: 'denied', by: 'mira', note: '' }],
        isCancelled: false,
        nextEffectId: 12,
      },
    ] as LoopEvent[]
    const told = toRuntimeEvents(events, null)
    expect(told.find(({ type }) => type === 'parked')).toMatchObject({ kind: 'task' })
    expect(told.find(({ type }) => type === 'resumed')).toMatchObject({
      decisions: [{ call_id: 'a', decision: 'denied' }],
    })
    expect(told.find(({ type }) => type === 'tool-result')).toMatchObject({
      call_id: 'a',
      is_error: true,
      text: 'Error: the approval was denied.',
    })
  })

  test('L20 L22: a compaction event has the sizes before and after', () => {
    const compacted: LoopEvent = {
      type: 'compacted',
      at: 5,
      effectId: 4,
      startedAt: 4,
      summary: 'They spoke of tides.',
      replaced: 12,
      tokensBefore: 9_000,
      tokens: 3_000,
      entries: 4,
      charge: null,
      problem: null,
    }
    const events = toRuntimeEvents([...new Scenario().wake().load().events, compacted], null)
    expect(events.at(-1)).toMatchObject({
      kind: 'model',
      type: 'compacted',
      messages: 12,
      tokens_before: 9_000,
      tokens: 3_000,
    })
  })

  test('L42: events stay bounded and the same however long the texts are', () => {
    const [, , answered, returned] = new Scenario()
      .wake()
      .load()
      .answer('', ['a'])
      .returnTool('a').events
    if (answered?.type !== 'model_answered' || returned?.type !== 'tool_returned') throw new Error()
    const journal: LoopEvent[] = finished().events.slice(0, 2)
    for (let step = 0; step < 100; step++) {
      const call = { callId: `call-${step}`, name: 'hub_search', arguments: '{}'.repeat(9_000) }
      const answer = { ...answered.answer, text: 'word '.repeat(5_000), calls: [call] }
      journal.push({ ...answered, answer })
      journal.push({ ...returned, callId: call.callId, text: 'found '.repeat(5_000) })
    }
    const events = toRuntimeEvents(journal, null)
    expect(events).toHaveLength(2 + 100 * 6)
    expect(JSON.stringify(events).length).toBeLessThan(250_000)
    const part = toRuntimeEvents(journal.slice(0, 60), null)
    expect(events.slice(0, part.length)).toEqual(part)
  })

  test('L22 M9: viewers without full access see no texts, reasoning, arguments or results', () => {
    const scenario = finished()
    const shown = JSON.stringify(toRuntimeEvents(scenario.events, null, 'none'))
    expect(shown).not.toContain('result of')
    expect(shown).not.toContain('{}')
    expect(shown).not.toContain('Let me look.')
    expect(shown).toContain('tool-call')
  })

  test('L35 M9: only viewers with full access see what the provider wrote; all see that the call failed', () => {
    const [woken, loaded] = new Scenario().wake().load().events
    const failure = {
      code: 'PROVIDER_ERROR',
      message: 'It answered 400.',
      detail: 'I cannot parse: HARBOUR',
      isRetryable: false,
      retryAfterMs: null,
      mayBeCharged: false,
    } as const
    const failed = { type: 'model_failed', at: 9, effectId: 2, startedAt: 8, failure } as const
    const journal = [woken, loaded, { ...failed, charge: null, jitter: 0 }] as LoopEvent[]
    const told = toRuntimeEvents(journal, null)
    expect(told.at(-1)).toMatchObject({ type: 'warning', quote: 'I cannot parse: HARBOUR' })
    const outside = toRuntimeEvents(journal, null, 'none')
    expect(JSON.stringify(outside)).not.toContain('HARBOUR')
    expect(outside.at(-1)).toMatchObject({ text: expect.stringContaining('It answered 400.') })
  })
})

test.each([
  [
    'approved when the budget is used up',
    (scenario: Scenario) => scenario.resume([{ callId: 'a' }], { admission: 'budget_exhausted' }),
  ],
  [
    'running when the machine stops once more',
    (scenario: Scenario) => {
      scenario.resume([{ callId: 'a' }])
      const unknown = { unknownCallIds: ['a'], charge: null }
      scenario.apply({ ...unknown, type: 'interrupted', at: 5, isSetAside: true })
      return scenario
    },
  ],
] as const)('L4 L41 L42: a call that is %s has its one result and is no open step', (_, end) => {
  const { events, state } = end(new Scenario().wake().load().answer('', ['a']).parkTool('a').park())
  expect(state.ending).not.toBeNull()
  const told = toRuntimeEvents(events, state.ending).filter(({ type }) => type === 'tool-result')
  expect(told).toMatchObject([{ call_id: 'a', is_error: true }])
  expect(openJournal(events, state.ending, 9).plan.steps).toMatchObject([{ status: 'failed' }])
})
