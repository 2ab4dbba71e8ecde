import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Conversation,
  countEntries,
  planCompaction,
  replaceOldest,
} from '../../../src/agents/loop/compaction'
import { extractSummary, writeRecord } from '../../../src/agents/loop/condense'
import { countAllChars, toTokens } from '../../../src/agents/loop/estimate'
import type { Message } from '../../../src/agents/loop/message'

const text = fc.string({ maxLength: 400 })
const turn: fc.Arbitrary<Message[]> = fc.oneof(
  fc.tuple(text, text).map(([asked, said]): Message[] => [
    { role: 'user', text: asked },
    { role: 'assistant', text: said, calls: [] },
  ]),
  fc.tuple(text, fc.array(text, { minLength: 1, maxLength: 3 })).map(([said, found]): Message[] => [
    {
      role: 'assistant',
      text: said,
      calls: found.map((_, index) => ({ callId: `c${index}`, name: 't', arguments: '{}' })),
    },
    {
      role: 'tool',
      results: found.map((each, index) => ({
        callId: `c${index}`,
        name: 't',
        text: each,
        isError: false,
      })),
    },
  ]),
)
const turns = fc.array(turn, { maxLength: 30 }).map((list) => list.flat())
const talks: fc.Arbitrary<Conversation> = fc
  .tuple(turns, turns, fc.option(text))
  .map(([history, run, summary]) => ({
    head: [{ role: 'system', text: 'soul' }],
    summary,
    history,
    task: [{ role: 'user', text: 'task' }],
    run,
  }))

const goalOf = (talk: Conversation, contextTokens: number, keepsAnswer: boolean) => {
  const { head, history, task, run } = talk
  const estimatedTokens = toTokens(countAllChars([...head, ...history, ...task, ...run]))
  return {
    promptTokens: estimatedTokens,
    estimatedTokens,
    contextTokens,
    toShare: 0.82,
    keepsAnswer,
  }
}

describe('what gives way', () => {
  const check = (visit: (talk: Conversation, after: Conversation, window: number) => void) =>
    fc.assert(
      fc.property(
        talks,
        fc.integer({ min: 50, max: 4_000 }),
        fc.boolean(),
        (talk, window, keeps) => {
          const { replaced, summaryCharsMax } = planCompaction(talk, goalOf(talk, window, keeps))
          const summary = extractSummary(replaced, talk.summary, summaryCharsMax)
          visit(talk, replaceOldest(talk, replaced.length, summary), window)
        },
      ),
      { numRuns: 300 },
    )

  test('L20: no call is split from its result', () => {
    check((_, after) => {
      const list = [...after.history, ...after.run]
      for (const [index, message] of list.entries()) {
        if (message.role !== 'tool') continue
        const before = list[index - 1]
        expect(before?.role === 'assistant' && before.calls.map(({ callId }) => callId)).toEqual(
          message.results.map(({ callId }) => callId),
        )
      }
    })
  })

  test('L20: system layers and the task stay, and what stays stays in its order', () => {
    check((talk, after) => {
      expect(after.head).toEqual(talk.head)
      expect(after.task).toEqual(talk.task)
      const before = [...talk.history, ...talk.run]
      const kept = [...after.history, ...after.run]
      expect(kept).toEqual(before.slice(before.length - kept.length))
    })
  })

  test('L19 L20: afterwards at most 25 entries are left, or only the newest group', () => {
    check((talk, after) => {
      if (countEntries(talk) <= 25) return
      expect(countEntries(after)).toBeLessThanOrEqual(25)
    })
  })

  test('L21: an answer that is to be continued is never replaced', () => {
    fc.assert(
      fc.property(talks, fc.integer({ min: 50, max: 400 }), (talk, window) => {
        const cut: Message[] = [
          { role: 'assistant', text: 'half an', calls: [] },
          { role: 'user', text: '[note] go on' },
        ]
        const going = { ...talk, run: [...talk.run, ...cut] }
        const { replaced } = planCompaction(going, goalOf(going, window, true))
        expect(replaceOldest(going, replaced.length, 's').run.slice(-2)).toEqual(cut)
      }),
    )
  })

  test('L20: the newest group goes only where nothing else makes room', () => {
    const group = (size: number): Message[] => [
      { role: 'assistant', text: '', calls: [{ callId: 'c', name: 't', arguments: '{}' }] },
      {
        role: 'tool',
        results: [{ callId: 'c', name: 't', text: 'x'.repeat(size), isError: false }],
      },
    ]
    const talk = (size: number): Conversation => ({
      head: [],
      summary: null,
      history: [],
      task: [{ role: 'user', text: 'task' }],
      run: [...group(2_000), ...group(size)],
    })
    const small = talk(2_000)
    expect(planCompaction(small, goalOf(small, 1_000, false)).replaced).toHaveLength(2)
    const huge = talk(40_000)
    expect(planCompaction(huge, goalOf(huge, 1_000, false)).replaced).toHaveLength(4)
  })

  test('L20: an extract and a record stay within their bounds, however much there was', () => {
    fc.assert(
      fc.property(
        turns,
        fc.option(text),
        fc.integer({ min: 200, max: 3_000 }),
        (list, former, max) => {
          expect(extractSummary(list, former, max).length).toBeLessThanOrEqual(max)
          expect(writeRecord(list, former, max).length).toBeLessThanOrEqual(max)
        },
      ),
    )
  })
})
