import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { findParting } from '../../../src/agents/replay/find-parting'
import { findReplayProblem } from '../../../src/agents/replay/read-record'
import { composeRecord, type RunRecord } from '../../../src/agents/run/record'
import { toCanonicalArguments } from '../../../src/shared/exact-json'
import { Recording } from '../run/recording'
import { runs } from '../run/runs'

const request = (over = {}) => ({
  model: 'fake/one',
  maxOutputTokens: 100,
  temperature: 0.1,
  status: 'now',
  tools: ['look'],
  toolsHash: 'x',
  ...over,
})

/** Two rounds of tools, then an answer. */
const toRun = (): RunRecord => {
  const run = new Recording()
    .begin()
    .answer(
      { text: 'Let me see.', calls: [{ callId: 'a' }, { callId: 'b' }] },
      { request: request() },
    )
    .tool('a')
    .tool('b')
    .answer({ calls: [{ callId: 'c' }] }, { request: request() })
    .tool('c')
    .answer({}, { request: request() })
    .commit()
  return composeRecord(run.events, run.ending, run.finishedAt)
}

/** Changes the events of one type, from the first. */
const change = <Type extends LoopEvent['type']>(
  type: Type,
  index: number,
  edit: (event: Extract<LoopEvent, { type: Type }>) => void,
) => {
  const run = structuredClone(toRun())
  const event = run.events.filter((each) => each.type === type)[index]
  if (!event) throw new Error(`no ${type}`)
  edit(event as Extract<LoopEvent, { type: Type }>)
  return JSON.stringify(run)
}

const same = JSON.stringify(toRun())

describe('P4: two runs part where they first differ', () => {
  test.each(Object.entries(runs))('a run does not part from itself: %s', (_name, play) => {
    const { events, ending, finishedAt } = play()
    const record = JSON.stringify(composeRecord(events, ending, finishedAt))
    expect(findParting(record, record)).toBeNull()
  })

  test('times, ids, statuses and the order of keys do not matter', () => {
    const shifted = same
      .replaceAll(/"(at|startedAt|durationMs)":\d+/g, '"$1":7')
      .replaceAll('"callId":"a"', '"callId":"other"')
      .replaceAll('"status":"now"', '"status":"later"')
    expect(findParting(same, shifted)).toBeNull()
  })

  const planted: [string, string, number][] = [
    [change('loaded', 0, ({ facts }) => void facts.prompt.reverse()), 'prompt', 1],
    ...[0, 1, 2].flatMap((step): [string, string, number][] => [
      [
        change('model_answered', step, (event) =>
          Object.assign(event, { request: request({ model: 'x' }) }),
        ),
        'model',
        step + 1,
      ],
      [
        change('model_answered', step, (event) =>
          Object.assign(event, { request: request({ temperature: 1 }) }),
        ),
        'model',
        step + 1,
      ],
      [
        change('model_answered', step, (event) =>
          Object.assign(event, { request: request({ tools: [] }) }),
        ),
        'tools',
        step + 1,
      ],
      [
        change('model_answered', step, ({ answer }) =>
          Object.assign(answer, { text: 'Otherwise.' }),
        ),
        'choice',
        step + 1,
      ],
    ]),
    [
      change('model_answered', 0, (event) =>
        Object.assign(event, { request: request({ toolsHash: 'y' }) }),
      ),
      'tools',
      1,
    ],
    [
      change('model_answered', 1, ({ answer }) => {
        answer.calls = answer.calls.map((each) => ({ ...each, arguments: '{"query":"x"}' }))
      }),
      'choice',
      2,
    ],
    [
      change('tool_returned', 0, (event) => Object.assign(event, { text: 'Other.' })),
      'tool_answer',
      1,
    ],
    [
      change('tool_returned', 1, (event) => Object.assign(event, { isError: true })),
      'tool_answer',
      1,
    ],
    [
      change('tool_returned', 2, (event) => Object.assign(event, { text: 'Other.' })),
      'tool_answer',
      2,
    ],
  ]

  test.each(planted)('run %#', (other, reason, step) => {
    expect(findParting(same, other)).toMatchObject({ step, reason })
    expect(findParting(other, same)).toMatchObject({ step, reason })
    expect(findParting(same, other)?.detail).toMatch(/\.$/)
  })

  test('one goes on where the other had ended', () => {
    const run = toRun()
    const last = run.events.findLastIndex(({ type }) => type === 'model_answered')
    const shorter = JSON.stringify({ ...run, events: run.events.slice(0, last) })
    expect(findParting(same, shorter)).toMatchObject({ step: 3, reason: 'end' })
  })

  test('one failed after the same steps', () => {
    const run = toRun()
    const failed = JSON.stringify({ ...run, ending: { ...run.ending, outcome: 'failed' } })
    expect(findParting(same, failed)).toMatchObject({ step: 3, reason: 'end' })
  })
})

const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => !Object.is(value, -0))

/** Returns JSON with the keys of every object in another order, and with white space. */
const shuffle = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffle)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, each]) => [key, shuffle(each)]),
  )
}

test('P2: arguments are equal when only the order of keys and white space differ', () => {
  fc.assert(
    fc.property(json, (value) => {
      const other = JSON.stringify(shuffle(value), null, 2)
      expect(toCanonicalArguments(other)).toBe(toCanonicalArguments(JSON.stringify(value)))
    }),
  )
})

test('P2: different arguments are not equal', () => {
  fc.assert(
    fc.property(json, json, (one, other) => {
      const [a, b] = [one, other].map((each) => toCanonicalArguments(JSON.stringify(each)))
      const isEqual = JSON.stringify(sort(one)) === JSON.stringify(sort(other))
      expect(a === b).toBe(isEqual)
    }),
  )
})

const sort = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sort)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .map(([key, each]) => [key, sort(each)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

test('P2: no arguments are an empty object, and what is no JSON is itself', () => {
  expect(toCanonicalArguments(' ')).toBe(toCanonicalArguments('{ }'))
  expect(toCanonicalArguments('{"a":')).toBe('{"a":')
  expect(toCanonicalArguments('{"n":12345678901234567890}')).not.toBe(
    toCanonicalArguments('{"n":12345678901234567891}'),
  )
})

test.each([
  ['another version', { ...toRun(), version: 3 }],
  ['a truncated one', { ...toRun(), isTruncated: true }],
  ['one without steps', { ...toRun(), omitted: { index: 1, steps: 1, charge: null } }],
  ['one without texts', { ...toRun(), ending: { ...toRun().ending, isBare: true } }],
  ['one that goes on', { ...toRun(), ending: null }],
  ['one that was never loaded', { ...toRun(), events: toRun().events.slice(0, 1) }],
])('a record that cannot be replayed says why: %s', (_name, record) => {
  expect(findReplayProblem(JSON.stringify(record))).toMatch(/\.$/)
})

test('a run of a coding agent cannot be replayed, any other run can', () => {
  const run = structuredClone(toRun())
  expect(findReplayProblem(JSON.stringify(run))).toBeNull()
  for (const event of run.events) {
    if (event.type === 'loaded') event.facts.program = { type: 'claude-code', takesTools: true }
  }
  expect(findReplayProblem(JSON.stringify(run))).toMatch(/coding agent/)
})
