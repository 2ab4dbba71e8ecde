import { describe, expect, it } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import type { RunEventOf } from '../../../src/agents/run/run-event'
import { toRunLog } from '../../../src/agents/run/run-log'
import { openRun, parseRunLog, serializeRunLog } from '../../../src/agents/run/stored-log'
import { answered, loaded, returned, start, woken } from './events'

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
    const log = parseRunLog(serializeRunLog(logOf(result)))
    expect(log).toEqual(logOf(result))
    const find = <Type extends 'loaded' | 'model_answered' | 'tool_returned'>(type: Type) =>
      log?.events.filter((event): event is RunEventOf<Type> => event.type === type)
    expect(find('loaded')).toMatchObject([{ definition: { version: 3, etag: 'e' } }])
    expect(find('model_answered')?.map((event) => event.request)).toEqual([
      { ...request, tools: ['hub_search'] },
      request,
    ])
    expect(find('tool_returned')).toMatchObject([{ arguments: '{"query":"owls"}', text: result }])
  })

  it('L41: the goal is the task until the agent sets one, and only for viewers of everything', () => {
    const stored = serializeRunLog(logOf('Three "herons"\nat the weir.'))
    expect(openRun(stored, 'all')?.plan).toMatchObject({
      goal: 'Find the herons.',
      steps: [{ output: 'Three "herons"\nat the weir.' }],
    })
    expect(openRun(stored, 'none')?.plan).toMatchObject({ goal: '', steps: [{ output: null }] })
    const seqs = (access: 'all' | 'none') => openRun(stored, access)?.events.map(({ type }) => type)
    expect(seqs('all')).toContain('plan')
    expect(seqs('none')).toEqual(seqs('all'))
  })

  it.each(['{', 'null', '{}', '{"version":2,"events":[]}'])(
    'L43: %s, which is no log of this version, is not read',
    (stored) => {
      expect(parseRunLog(stored)).toBeNull()
      expect(openRun(stored, 'all')).toBeNull()
    },
  )
})
