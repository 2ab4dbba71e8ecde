import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Conversation,
  countEntries,
  extractSummary,
  formatRecord,
  planCompaction,
  replaceOldest,
} from '../../../src/agents/loop/compaction'
import {
  countTotalChars,
  estimateTokensOfChars,
  type Message,
} from '../../../src/agents/loop/message'

const text = fc.string({ maxLength: 400 })
const exchange: fc.Arbitrary<Message[]> = fc.oneof(
  fc.tuple(text, text).map(([question, answer]): Message[] => [
    { role: 'user', text: question },
    { role: 'assistant', text: answer, calls: [] },
  ]),
  fc
    .tuple(text, fc.array(text, { minLength: 1, maxLength: 3 }))
    .map(([answer, found]): Message[] => [
      {
        role: 'assistant',
        text: answer,
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
const exchanges = fc.array(exchange, { maxLength: 30 }).map((list) => list.flat())
const talks: fc.Arbitrary<Conversation> = fc
  .tuple(exchanges, exchanges, fc.option(text))
  .map(([history, run, summary]) => ({
    head: [{ role: 'system', text: 'soul' }],
    summary,
    history,
    task: [{ role: 'user', text: 'task' }],
    run,
  }))

const goalOf = (conversation: Conversation, contextTokens: number, keepsAnswer: boolean) => {
  const { head, history, task, run } = conversation
  const estimatedTokens = estimateTokensOfChars(
    countTotalChars([...head, ...history, ...task, ...run]),
  )
  return {
    promptTokens: estimatedTokens,
    estimatedTokens,
    contextTokens,
    toShare: 0.82,
    keepsAnswer,
  }
}

describe('which messages are replaced', () => {
  const check = (
    visit: (conversation: Conversation, after: Conversation, window: number) => void,
  ) =>
    fc.assert(
      fc.property(
        talks,
        fc.integer({ min: 50, max: 4_000 }),
        fc.boolean(),
        (conversation, window, keeps) => {
          const { replaced, summaryCharsMax } = planCompaction(
            conversation,
            goalOf(conversation, window, keeps),
          )
          const summary = extractSummary(replaced, conversation.summary, summaryCharsMax)
          visit(conversation, replaceOldest(conversation, replaced.length, summary), window)
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

  test('L20: system layers and the task stay, and the rest keeps its order', () => {
    check((conversation, after) => {
      expect(after.head).toEqual(conversation.head)
      expect(after.task).toEqual(conversation.task)
      const before = [...conversation.history, ...conversation.run]
      const kept = [...after.history, ...after.run]
      expect(kept).toEqual(before.slice(before.length - kept.length))
    })
  })

  test('L19 L20: afterwards at most 25 entries are left, or only the newest group', () => {
    check((conversation, after) => {
      if (countEntries(conversation) <= 25) return
      expect(countEntries(after)).toBeLessThanOrEqual(25)
    })
  })

  test('L21: an answer that is to be continued is never replaced', () => {
    fc.assert(
      fc.property(talks, fc.integer({ min: 50, max: 400 }), (conversation, window) => {
        const truncated: Message[] = [
          { role: 'assistant', text: 'half an', calls: [] },
          { role: 'user', text: '[note] go on' },
        ]
        const continued = { ...conversation, run: [...conversation.run, ...truncated] }
        const { replaced } = planCompaction(continued, goalOf(continued, window, true))
        expect(replaceOldest(continued, replaced.length, 's').run.slice(-2)).toEqual(truncated)
      }),
    )
  })

  test('L20: the newest group is replaced only when nothing else makes space', () => {
    const group = (size: number): Message[] => [
      { role: 'assistant', text: '', calls: [{ callId: 'c', name: 't', arguments: '{}' }] },
      {
        role: 'tool',
        results: [{ callId: 'c', name: 't', text: 'x'.repeat(size), isError: false }],
      },
    ]
    const conversation = (size: number): Conversation => ({
      head: [],
      summary: null,
      history: [],
      task: [{ role: 'user', text: 'task' }],
      run: [...group(2_000), ...group(size)],
    })
    const small = conversation(2_000)
    expect(planCompaction(small, goalOf(small, 1_000, false)).replaced).toHaveLength(2)
    const huge = conversation(40_000)
    expect(planCompaction(huge, goalOf(huge, 1_000, false)).replaced).toHaveLength(4)
  })

  test('L20: an extract and a record stay within their bounds, however much there was', () => {
    fc.assert(
      fc.property(
        exchanges,
        fc.option(text),
        fc.integer({ min: 200, max: 3_000 }),
        (list, former, max) => {
          expect(extractSummary(list, former, max).length).toBeLessThanOrEqual(max)
          expect(formatRecord(list, former, max).length).toBeLessThanOrEqual(max)
        },
      ),
    )
  })
})
