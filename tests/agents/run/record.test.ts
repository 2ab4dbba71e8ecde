import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { RunLogProblem } from '../../../src/agents/contract/agents'
import type { LoopEvent, LoopEventOf } from '../../../src/agents/loop/event'
import {
  composeRecord,
  findRunLogProblem,
  openRun,
  parseRecord,
  serializeRecord,
} from '../../../src/agents/run/record'
import { replayLoop, toRunLog } from '../../../src/agents/run/run-log'
import { drive, driveSteered, type Run } from '../loop/drive'
import { answered, auditOf, loaded, returned, start, woken } from './events'
import { Recording } from './recording'
import { runs } from './runs'
import { worldRuns } from './world-runs'

const ending = { outcome: 'completed', error: null, reply: 'answer', text: '' } as const
const request = { model: 'test/one', maxOutputTokens: 900, temperature: 0.2, status: 'Now.' }

const journal = (result: string): LoopEvent[] => [
  woken(start),
  loaded(start + 100, { goal: 'Find the herons.' }),
  answered(start + 200, ['a'], { at: start + 300, request: { ...request, tools: ['hub_search'] } }),
  returned('a', start + 310, { at: start + 400, text: result }),
  answered(start + 410, [], { at: start + 500, request }),
]

const recordOf = (result: string) => composeRecord(journal(result), ending, start + 900)

describe('L43: what is kept of a run', () => {
  it('L43: definition, parameters of each request and results of tools are in the record, whole', () => {
    const result = 'weir '.repeat(20_000)
    const record = recordOf(result)
    const parsed = parseRecord(serializeRecord(record))
    expect(parsed).toMatchObject({ ok: true, record: JSON.parse(JSON.stringify(record)) })
    const events = parsed.ok ? parsed.record.events : []
    const find = <Type extends LoopEvent['type']>(type: Type) =>
      events.filter((event): event is LoopEventOf<Type> => event.type === type)
    expect(find('loaded')).toMatchObject([{ facts: { definition: { version: 3, etag: 'e' } } }])
    expect(find('model_answered').map((event) => event.request)).toEqual([
      { ...request, tools: ['hub_search'] },
      request,
    ])
    expect(find('tool_returned')).toMatchObject([{ callId: 'a', text: result }])
  })

  it('L43: each fact of an event is stored once, and is there again when it is read', () => {
    const usage = { inputTokens: 100, cachedTokens: 40, outputTokens: 20, reasoningTokens: 5 }
    const { events } = new Recording()
      .begin({
        requesters: [{ name: 'mira', role: 'member' }],
        session: { id: 'general_1', task: 'The words of the task.', gist: 'One line.' },
      })
      .answer({ calls: [{ callId: 'a' }], usage }, { request, charge: { model: 'test/one' } })
      .tool('a', { audit: auditOf('a', { durationMs: 30, resultBytes: 8 }) })
      .answer({ usage }, { request, charge: { model: 'test/one' } })
      .commit()
    const record = composeRecord(events, ending, start)
    const stored = serializeRecord(record)
    const counts: Record<string, number> = { 'test/one"': 2, mira: 1 }
    for (const part of [
      '"usage"',
      '"reasoning"',
      '"isSequential"',
      'test/one"',
      '"tool"',
      'mira',
    ]) {
      expect([part, stored.split(part).length - 1]).toEqual([part, counts[part] ?? 0])
    }
    expect(stored).not.toMatch(/The words of the task|One line/)
    const read = (json: string) => {
      const parsed = parseRecord(json)
      return parsed.ok ? parsed.record : null
    }
    expect(read(stored)).toEqual(record)
    // as it was stored before
    expect(read(JSON.stringify(record))).toEqual(record)
  })

  it('L43: what differs from what mostly says the same is stored', () => {
    const other = { inputTokens: 1, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 }
    const differing = (usage: typeof other | null) =>
      new Recording()
        .begin()
        .answer(
          { calls: [{ callId: 'a' }], usage, reasoning: 'I think.' },
          {
            request: { ...request, model: 'other/two' },
            calls: [{ callId: 'a', isSequential: true }],
          },
        )
        .tool('a', { audit: auditOf('b', { tool: 'other', durationMs: null, resultBytes: 7 }) })
    for (const usage of [other, null]) {
      const { events } = differing(usage)
      requireSame(events, ending, start)
      const stored = JSON.parse(serializeRecord(composeRecord(events, ending, start))).events
      expect(stored.slice(2)).toEqual(JSON.parse(JSON.stringify(events.slice(2))))
    }
  })

  it('L41: the goal is the task until the agent sets one, and only for viewers of everything', () => {
    const stored = serializeRecord(recordOf('Three "herons"\nat the weir.'))
    expect(openRun(stored, 'all', false)?.plan).toMatchObject({
      goal: 'Find the herons.',
      steps: [{ output: 'Three "herons"\nat the weir.' }],
    })
    expect(openRun(stored, 'none', false)?.plan).toMatchObject({
      goal: '',
      steps: [{ output: null }],
    })
    const seqs = (access: 'all' | 'none') =>
      openRun(stored, access, false)?.events.map(({ type }) => type)
    expect(seqs('all')).toContain('plan')
    expect(seqs('none')).toEqual(seqs('all'))
  })

  it.each<[RunLogProblem, string]>([
    ['not_json', ''],
    ['not_json', '{'],
    ['not_json', serializeRecord(recordOf('weir')).slice(0, -9)],
    ['other_version', '{"version":3,"events":[]}'],
    ['other_version', '{"version":5}'],
    ['invalid', 'null'],
    ['invalid', '[]'],
    ['invalid', '{}'],
    ['invalid', '{"version":4}'],
    ['invalid', '{"version":4,"events":{}}'],
    ['invalid', '{"version":4,"events":[null]}'],
    ['invalid', '{"version":4,"events":[{"type":"woken"}]}'],
    ['invalid', '{"version":4,"events":[{"type":"loaded","at":1}]}'],
    ['invalid', '{"version":4,"events":[{"type":"woken","at":1e20,"activationId":"a"}]}'],
  ])('L43: %s: %s', (problem, stored) => {
    expect(parseRecord(stored)).toEqual({ ok: false, problem })
    expect(findRunLogProblem(stored)).toBe(problem)
    expect(openRun(stored, 'all', false)).toBeNull()
  })

  it.each([...Object.entries(runs), ...Object.entries(worldRuns)])(
    'L43: the record of a run is read as the run was seen: %s',
    async (_name, play) => {
      const { events, ending: end, finishedAt } = await play()
      requireSame(events, end, finishedAt)
    },
  )

  it('L43: a record with any value replaced or removed is shown or reported, and nothing throws', () => {
    const records = Object.values(runs).map((play) => {
      const { events, ending: end, finishedAt } = play()
      return serializeRecord(composeRecord(events, end, finishedAt))
    })
    const values = fc.constantFrom<unknown>(
      undefined,
      null,
      true,
      -1,
      1.5,
      1e300,
      '',
      'x',
      [],
      {},
      [null],
    )
    let damaged = 0
    fc.assert(
      fc.property(fc.constantFrom(...records), fc.nat(), values, (stored, at, value) => {
        const json = replaceValue(stored, at, value)
        const problem = findRunLogProblem(json)
        for (const access of ['all', 'answer', 'none'] as const) {
          const trace = openRun(json, access, false)
          if (problem === null) expect(trace).not.toBeNull()
        }
        if (problem !== null) damaged++
      }),
      { numRuns: 400 },
    )
    expect(damaged).toBeGreaterThan(5)
  })
})

/** Requires that a stored run is seen as it was while it ran. */
function requireSame(events: LoopEvent[], end: Run['state']['ending'], finishedAt: number | null) {
  const record = composeRecord(events, end, finishedAt)
  const parsed = parseRecord(serializeRecord(record))
  expect(parsed).toMatchObject({ ok: true })
  if (!parsed.ok) return
  expect(parsed.record).toEqual(JSON.parse(JSON.stringify(record)))
  expect(parsed.log).toEqual(toRunLog(JSON.parse(JSON.stringify(events)), end, finishedAt))
  expect(JSON.stringify(parsed.log)).toBe(JSON.stringify(toRunLog(events, end, finishedAt)))
}

const choices = fc.array(fc.nat({ max: 10_000 }), { minLength: 1, maxLength: 40 })

test.each([
  ['driven', drive],
  ['steered', driveSteered],
])(
  'P10 L43: the loop comes to the same state over the stored events of a run: %s',
  (_name, play) => {
    fc.assert(
      fc.property(choices, fc.boolean(), (list, isDisturbed) => {
        const run = play(list, isDisturbed)
        for (const length of [run.events.length, Math.ceil(run.events.length / 2)]) {
          const events = run.events.slice(0, length)
          const { state } = replayLoop(events)
          requireSame(events, state.ending, null)
          const parsed = parseRecord(serializeRecord(composeRecord(events, state.ending, null)))
          if (!parsed.ok) throw new Error(parsed.problem)
          expect(replayLoop(parsed.record.events).state).toEqual(JSON.parse(JSON.stringify(state)))
        }
        expect(replayLoop(run.events).state).toEqual(run.state)
      }),
      { numRuns: 150 },
    )
  },
)

/** Replaces one of the values in JSON, at any depth; undefined removes it. */
function replaceValue(json: string, at: number, value: unknown): string {
  let count = 0
  JSON.parse(json, (_key, each: unknown) => {
    count++
    return each
  })
  let index = 0
  const replaced = JSON.parse(json, (_key, each: unknown) =>
    index++ === at % count ? value : each,
  )
  return JSON.stringify(replaced) ?? ''
}
