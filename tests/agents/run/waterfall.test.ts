import { expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import {
  activationId,
  answered,
  charge,
  failed,
  loaded,
  openJournal,
  returned,
  start,
  woken,
} from './events'

const completed = { outcome: 'completed', error: null, reply: 'answer', text: '' } as const

/** Two steps and two tools side by side, after a wait, a failed call and a retry. */
const journal = (): LoopEvent[] => [
  woken(start),
  loaded(start + 100),
  failed(start + 110, { at: start + 160 }),
  { type: 'slept', at: start + 2_160, effectId: 3 },
  answered(start + 2_200, ['a', 'b'], {
    at: start + 2_500,
    reasoning: 'I should look it up.',
    input: { messages: 3, chars: 1_200, tokens: 300, prefixShare: null },
    charge: charge({ durationMs: 300 }),
    hooks: [
      { hook: 'budget-words', point: 'beforeModelCall', ms: 30, outcome: 'ok' },
      { hook: 'watcher', point: 'afterModelCall', ms: 20, outcome: 'timed_out' },
    ],
  }),
  returned('b', start + 2_510, { at: start + 2_700, durationMs: 190 }),
  returned('a', start + 2_510, {
    at: start + 3_000,
    durationMs: 490,
    isError: true,
    text: 'Error: no.',
    hooks: [{ hook: 'guard', point: 'beforeToolCall', ms: 5, outcome: 'ok' }],
  }),
  answered(start + 3_010, [], {
    at: start + 3_200,
    charge: charge({ durationMs: 190, cachedTokens: 90 }),
    input: { messages: 5, chars: 2_000, tokens: 500, prefixShare: 0.98 },
  }),
]

test('L43: per step the input, tokens (cached too), latency of model, tools and hooks, finish reason and cost', () => {
  const { steps } = openJournal(journal(), completed, start + 3_300)
  expect(steps).toMatchObject([
    {
      step: 1,
      startedAt: start + 2_200,
      modelMs: 300,
      retries: 1,
      input: { messages: 3, chars: 1_200, tokens: 300, prefixShare: null },
      inputTokens: 100,
      cachedTokens: 40,
      outputTokens: 20,
      reasoningTokens: 5,
      costMicrousd: 700,
      isPriced: true,
      isEstimated: false,
      finishReason: 'tool-calls',
      hooks: [
        { hook: 'budget-words', point: 'beforeModelCall', ms: 30, outcome: 'ok' },
        { hook: 'watcher', point: 'afterModelCall', ms: 20, outcome: 'timed_out' },
      ],
    },
    { step: 2, retries: 0, cachedTokens: 90, finishReason: 'stop', tools: [], hooks: [] },
  ])
})

test('L43: each tool with its arguments, result, time, grant and hooks, in the step that asked for it, in the order of the calls', () => {
  const [first] = openJournal(journal(), completed, start + 3_300).steps
  expect(first?.tools).toEqual([
    {
      callId: 'a',
      name: 'hub_search',
      grant: 'hub:read',
      arguments: '{"query":"owls"}',
      result: 'Error: no.',
      isError: true,
      startedAt: start + 2_510,
      durationMs: 490,
      resultBytes: 14,
      hooks: [{ hook: 'guard', point: 'beforeToolCall', ms: 5, outcome: 'ok' }],
    },
    {
      callId: 'b',
      name: 'hub_search',
      grant: 'hub:read',
      arguments: '{"query":"owls"}',
      result: 'Nothing found.',
      isError: false,
      startedAt: start + 2_510,
      durationMs: 190,
      resultBytes: 14,
      hooks: [],
    },
  ])
})

test('L33 L43: where the time went adds up, and what ran side by side counts once', () => {
  const { time } = openJournal(journal(), completed, start + 3_300)
  expect(time).toEqual({
    loadingMs: 100,
    modelMs: 300 + 190,
    // the failed call
    lostMs: 50,
    // 2,510 to 3,000, less the guard
    toolsMs: 490 - 5,
    // the second one took 20 ms, of which only 10 fit between the answer and the tools
    hooksMs: 30 + 10 + 5,
    compactionMs: 0,
    parkedMs: 0,
    waitingMs: 2_000,
    // 10 before the failed call, 40 - 30 before the answer, 10 - 10 before the tools, 10, 100
    otherMs: 10 + 10 + 0 + 10 + 100,
    totalMs: 3_300,
  })
  const { totalMs, ...parts } = time
  expect(Object.values(parts).reduce((sum, ms) => sum + ms, 0)).toBe(totalMs)
})

test('L43: why: the prompt, the notes on failures, the outcome and its reason', () => {
  const error = { code: 'PROVIDER_BUSY', message: 'Too many requests.' } as const
  const ending = { outcome: 'failed', error, reply: 'notice', text: '' } as const
  const trace = openJournal(
    [
      woken(),
      loaded(start, {
        model: { id: 'offline/x', isOffline: true, substitutedFor: 'anthropic/claude' },
        notes: ['Two skills were left out.'],
        session: { id: 'general_post', task: '', gist: '' },
      }),
      failed(start),
    ],
    ending,
    start + 60,
  )
  expect(trace).toMatchObject({
    activationId,
    agent: 'scout',
    model: 'offline/x',
    task: 'mention',
    session: 'general_post',
    definitionVersion: 3,
    outcome: 'failed',
    error,
  })
  expect(trace.prompt).toEqual([
    { role: 'system', excerpt: 'You are scout.', chars: 14 },
    { role: 'user', excerpt: 'The task.', chars: 9 },
  ])
  const notes = trace.notes.map(({ text }) => text).join('\n')
  expect(notes).toContain('No key for anthropic/claude')
  expect(notes).toContain('Two skills were left out.')
  expect(notes).toContain('PROVIDER_BUSY')
})

test('L20 L30 L43: compactions and waits for people are part of it', () => {
  const trace = openJournal(
    [
      woken(start),
      loaded(start),
      answered(start, ['a']),
      {
        type: 'tool_parked',
        at: start + 300,
        effectId: 3,
        callId: 'a',
        name: 'http_request',
        startedAt: start + 290,
        approval: {
          callId: 'a',
          tool: 'http_request',
          grant: 'http:x:write',
          tier: 'write',
          arguments: '{}',
          argumentsHash: '',
        },
        audit: null,
      },
      { type: 'parked', at: start + 310, effectId: 4, kind: 'parked', hasMore: false },
      {
        type: 'resumed',
        at: start + 9_310,
        activationId,
        admission: 'granted',
        decisions: [{ callId: 'a', decision: 'denied', by: 'mira', note: 'Not now.' }],
        isCancelled: false,
        nextEffectId: 5,
      },
      {
        type: 'compacted',
        at: start + 9_500,
        effectId: 5,
        startedAt: start + 9_400,
        summary: 'It went well.',
        replaced: 12,
        tokensBefore: 9_000,
        tokens: 900,
        entries: 3,
        charge: charge({ microusd: 80 }),
        problem: null,
      },
    ],
    null,
    null,
  )
  expect(trace.parks).toEqual([
    {
      at: start + 310,
      resumedAt: start + 9_310,
      tools: ['http_request'],
      decisions: [{ callId: 'a', decision: 'denied', by: 'mira', note: 'Not now.' }],
    },
  ])
  expect(trace.compactions).toEqual([
    {
      at: start + 9_500,
      durationMs: 100,
      replaced: 12,
      tokensBefore: 9_000,
      tokens: 900,
      costMicrousd: 80,
      problem: null,
    },
  ])
  expect(trace.time).toMatchObject({ parkedMs: 9_000, compactionMs: 100, totalMs: 9_500 })
})

test('L25: reasoning is kept in the trace', () => {
  const [first] = openJournal(journal(), completed, start + 3_300).steps
  expect(first?.reasoning).toBe('I should look it up.')
})

test('an activation that has only been woken has a trace too', () => {
  expect(openJournal([woken(start)], null, null)).toMatchObject({
    activationId,
    steps: [],
    time: { totalMs: 0 },
  })
})

test.each([
  ['a person', 'cancel_requested', 'Error: operation cancelled by user.'],
  ['the clock', 'time_ran_out', 'Error: timed out.'],
] as const)(
  'L34 L43: what hung until %s ended it is in its step, with the time it took',
  (_who, type, result) => {
    const { steps, time } = openJournal(
      [
        woken(start),
        // ids of effects go on from one activation to the next
        { ...loaded(start), effectId: 41 } as LoopEvent,
        answered(start, ['a', 'b'], { effectId: 42, at: start + 100 }),
        returned('a', start + 100, { effectId: 43, at: start + 200 }),
        { type, at: start + 5_100, charge: null },
      ],
      { outcome: 'cancelled', error: null, reply: 'partial', text: '' },
      start + 5_200,
    )
    expect(steps[0]?.tools).toMatchObject([
      { callId: 'a', isError: false },
      {
        callId: 'b',
        name: 'hub_search',
        arguments: '{"query":"owls"}',
        isError: true,
        result,
        startedAt: start + 100,
        durationMs: 5_000,
      },
    ])
    expect(time).toMatchObject({ modelMs: 100, toolsMs: 5_000, otherMs: 100 })
  },
)

test('L34 L43: the time of a stopped model call counts', () => {
  const stop: LoopEvent = { type: 'cancel_requested', at: start + 3_000, charge: charge() }
  const { time } = openJournal([woken(start), loaded(start), stop], null, start + 3_000)
  expect(time).toMatchObject({ modelMs: 0, lostMs: 3_000, otherMs: 0 })
})
