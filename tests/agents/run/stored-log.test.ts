import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunLogProblem } from '../../../src/agents/contract/agents'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { toOtlp } from '../../../src/agents/run/otlp'
import type { RunEventOf } from '../../../src/agents/run/run-event'
import { toRunLog } from '../../../src/agents/run/run-log'
import {
  findRunLogProblem,
  openRun,
  parseRunLog,
  serializeRunLog,
} from '../../../src/agents/run/stored-log'
import { answered, loaded, returned, start, woken } from './events'
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

const logOf = (result: string) => toRunLog(journal(result), ending, start + 900)

describe('L43: what is kept of a run', () => {
  it('L43: definition, parameters of each request and results of tools are in the log, whole', () => {
    const result = 'weir '.repeat(20_000)
    const log = logOf(result)
    expect(parseRunLog(serializeRunLog(log))).toEqual({ ok: true, log })
    const find = <Type extends 'loaded' | 'model_answered' | 'tool_returned'>(type: Type) =>
      log.events.filter((event): event is RunEventOf<Type> => event.type === type)
    expect(find('loaded')).toMatchObject([{ definition: { version: 3, etag: 'e' } }])
    expect(find('model_answered')?.map((event) => event.request)).toEqual([
      { ...request, tools: ['hub_search'] },
      request,
    ])
    expect(find('tool_returned')).toMatchObject([{ arguments: '{"query":"owls"}', text: result }])
  })

  it('L41: the goal is the task until the agent sets one, and only for viewers of everything', () => {
    const stored = serializeRunLog(logOf('Three "herons"\nat the weir.'))
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
    ['not_json', serializeRunLog(logOf('weir')).slice(0, -9)],
    ['other_version', '{"version":2,"events":[]}'],
    ['other_version', '{"version":4}'],
    ['invalid', 'null'],
    ['invalid', '[]'],
    ['invalid', '{}'],
    ['invalid', '{"version":3}'],
    ['invalid', '{"version":3,"events":{}}'],
    ['invalid', '{"version":3,"events":[null]}'],
    ['invalid', '{"version":3,"events":[{"type":"woken"}]}'],
    ['invalid', '{"version":3,"events":[{"type":"dreamt","at":1}]}'],
    ['invalid', '{"version":3,"events":[{"type":"woken","at":1e20,"activationId":"a"}]}'],
  ])('L43: %s: %s', (problem, stored) => {
    expect(parseRunLog(stored)).toEqual({ ok: false, problem })
    expect(findRunLogProblem(stored)).toBe(problem)
    expect(openRun(stored, 'all', false)).toBeNull()
  })

  it.each([...Object.entries(runs), ...Object.entries(worldRuns)])(
    'L43: the log of a run is read: %s',
    async (_name, play) => {
      const { events, ending: end, finishedAt } = await play()
      const log = JSON.parse(JSON.stringify(toRunLog(events, end, finishedAt)))
      expect(parseRunLog(JSON.stringify(log))).toEqual({ ok: true, log })
    },
  )

  it('L43: a log with any value replaced or removed is shown or reported, and nothing throws', () => {
    const logs = Object.values(runs).map((play) => {
      const { events, ending: end, finishedAt } = play()
      return JSON.stringify(toRunLog(events, end, finishedAt))
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
    fc.assert(
      fc.property(fc.constantFrom(...logs), fc.nat(), values, (stored, at, value) => {
        const json = replaceValue(stored, at, value)
        const problem = findRunLogProblem(json)
        for (const access of ['all', 'answer', 'none'] as const) {
          const trace = openRun(json, access, false)
          expect(trace === null).toBe(problem !== null)
          if (trace) JSON.stringify(toOtlp(trace, { hub: 'Test', hasContent: true }))
        }
      }),
      { numRuns: 400 },
    )
  })
})

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
