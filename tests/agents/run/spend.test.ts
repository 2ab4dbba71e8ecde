import { expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { answered, charge, failed, loaded, openJournal, start, woken } from './events'

/** A call that failed, one that a crash lost, a summary, an answer, and a call that was stopped. */
const costly = (): LoopEvent[] => [
  woken(start),
  loaded(start),
  failed(start, { charge: charge({ microusd: 1_000, outputTokens: 500 }) }),
  failed(start),
  {
    type: 'interrupted',
    at: start + 60,
    unknownCallIds: [],
    charge: charge({ microusd: 20_000 }),
  },
  {
    type: 'compacted',
    at: start + 80,
    effectId: 5,
    startedAt: start + 70,
    summary: '',
    replaced: 3,
    tokensBefore: 9,
    tokens: 5,
    entries: 1,
    problem: null,
    charge: charge({ microusd: 300_000 }),
  },
  answered(start + 100, ['a']),
  {
    type: 'cancel_requested',
    at: start + 900,
    charge: charge({ microusd: 4_000_000, isPriced: false }),
  },
]

test('B1 L43: what it spent is every charge, also of calls without an answer and of summaries', () => {
  const { spent, steps } = openJournal(costly(), null, null)
  expect(steps).toHaveLength(1)
  expect(spent).toEqual({
    inputTokens: 500,
    cachedTokens: 200,
    outputTokens: 4 * 20 + 500,
    costMicrousd: 4_321_700,
    isPriced: false,
  })
  expect(openJournal([woken(start)], null, null).spent).toEqual({
    inputTokens: 0,
    cachedTokens: 0,
    outputTokens: 0,
    costMicrousd: 0,
    isPriced: true,
  })
})

test('B1 L43: a note on a call without an answer has its charge, if any', () => {
  const notes = openJournal(costly(), null, null).notes.map(({ text }) => text)
  expect(notes).toEqual([
    expect.stringMatching(/Too many requests.* charged 100 tokens in and 500 out, \$0\.001000\.$/),
    expect.stringMatching(/Too many requests\.$/),
    expect.stringMatching(/^The server stopped.* charged 100 tokens in and 20 out, \$0\.020000\.$/),
    expect.stringMatching(
      /^The agent was asked to stop.* charged 100 tokens in and 20 out, without a price\.$/,
    ),
  ])
})
