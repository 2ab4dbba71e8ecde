import { describe, expect, it } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { buildTrace } from '../../../src/agents/trace/build-trace'
import { serializeTrace } from '../../../src/agents/trace/serialize-trace'
import { parseStoredTrace, toStoredTrace } from '../../../src/agents/trace/stored-trace'
import { limits } from '../../../src/shared/config'
import { answered, loaded, returned, start, woken } from './events'

const ending = { outcome: 'completed', error: null, reply: 'answer', text: '' } as const
const finishedAt = start + 900

const journal = (result: string): LoopEvent[] => [
  woken(start),
  loaded(start + 100),
  answered(start + 200, ['a'], { at: start + 300 }),
  returned('a', start + 310, { at: start + 400, text: result }),
  answered(start + 410, [], { at: start + 500 }),
]

const store = (events: LoopEvent[]): string => {
  const texts = events.map((event) => JSON.stringify(event))
  return toStoredTrace({ texts, events, ending, finishedAt })
}

describe('L43: what is kept of an activation opens as its trace', () => {
  const toJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

  it('L43: a short journal is kept as it is', () => {
    const events = journal('Three "herons"\nat the weir.')
    const stored = store(events)
    expect(JSON.parse(stored).events).toEqual(toJson(events))
    expect(toJson(parseStoredTrace(stored))).toEqual(toJson(buildTrace(events, ending, finishedAt)))
  })

  it('L43: a long journal is kept as a trace with excerpts', () => {
    const events = journal('weir '.repeat(limits.storedJournalCharsMax / 5))
    const stored = store(events)
    expect(stored).toBe(serializeTrace(buildTrace(events, ending, finishedAt)))
    expect(stored.length).toBeLessThan(limits.storedJournalCharsMax / 2)
    expect(toJson(parseStoredTrace(stored))).toEqual(toJson(buildTrace(events, ending, finishedAt)))
  })

  it('L43: text that is not JSON throws a SyntaxError', () => {
    expect(() => parseStoredTrace('{')).toThrow(SyntaxError)
  })
})
