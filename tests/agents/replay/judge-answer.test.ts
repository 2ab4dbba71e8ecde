import { expect, test } from 'vitest'
import { readJudgeAnswer } from '../../../src/agents/replay/judge-answer'
import { judgeLimits } from '../../../src/shared/config'

const read = (text: string) => readJudgeAnswer({ text, finish: 'stop' })

test.each<[string, string]>([
  ['{"winner":"A","reason":"r"}', 'first'],
  ['{ "winner": "B", "reason": "r" }', 'second'],
  ['{"winner":"same","reason":"r"}', 'same'],
  ['{"winner":"cannot_tell","reason":"r"}', 'cannot_tell'],
  ['{"reason":"r","winner":"a"}', 'first'],
  ['{"Winner":"Answer B","Reason":"r"}', 'second'],
  ['{"winner":"Cannot tell","reason":"r"}', 'cannot_tell'],
  ['{"winner":"SAME.","reason":"r",}', 'same'],
  ['```json\n{\n  "winner": "b",\n  "reason": "r"\n}\n```', 'second'],
  ['I compared both.\n\n{"winner":"A","reason":"r"}\n\nI hope that helps {:-)}.', 'first'],
  ["{'winner': 'A', 'reason': 'r'}", 'first'],
  ['{winner: "B", reason: "r"}', 'second'],
  ['{“winner”: “A”, “reason”: “r”}', 'first'],
  ['{"winner": A, "reason": "r"}', 'first'],
  ['{"winner":"A","reason":"r"} {"winner":"A","reason":"again"}', 'first'],
  ['{"winner":"A","reason":"r","confidence":0.7}', 'first'],
])('P6: %j is read', (text, says) => {
  expect(read(text)).toEqual({ says, reason: 'r' })
})

test('P6: a reason may hold line breaks, quotes, braces and escapes', () => {
  const reason = 'It says "no",\n{ as } the note \\ wants: ä.'
  expect(read(JSON.stringify({ winner: 'A', reason }))).toEqual({ says: 'first', reason })
  expect(read('{"winner":"A","reason":"one\ntwo \\u00e4"}').reason).toBe('one\ntwo ä')
})

test('P6: what a reason quotes names no winner', () => {
  const reason = 'B says {"winner": "B"}, which I ignore.'
  expect(read(JSON.stringify({ winner: 'A', reason }))).toEqual({ says: 'first', reason })
})

test.each([
  '',
  '   \n',
  'A',
  'The winner is A.',
  '{"winner":"A","reason":"r"} or {"winner":"B","reason":"r"}',
  '{"winner":"A","winner":"B","reason":"r"}',
  '{"winner":"A or B","reason":"r"}',
  '{"winner":["A","B"],"reason":"r"}',
  '{"winner":"both","reason":"r"}',
  '{"winner":"","reason":"r"}',
  '{"winner":null,"reason":"r"}',
  '{"winner":{"A":1},"reason":"r"}',
  '{"loser":"A","reason":"r"}',
  '{"winner":"A","reason":"and then',
  '{"winner":"A"',
  '{}',
  '[]',
  'I cannot help with that.',
  '{"winner":"A","reason":"r"} {"winner":"first","reason":"r"}',
])('P6: %j names no winner', (text) => {
  expect(read(text).says).toBe('cannot_tell')
  expect(read(text).reason).toMatch(/^The judge/)
})

test.each(['length', 'content-filter', 'tool-calls'] as const)(
  'P6: an answer that ends with %s is not whole',
  (finish) => {
    const { says, reason } = readJudgeAnswer({ text: '{"winner":"A","reason":"r"}', finish })
    expect([says, reason === 'r']).toEqual(['cannot_tell', false])
  },
)

test('P6: a winner without a reason is one, and a long reason is shortened', () => {
  expect(read('{"winner":"A"}')).toEqual({ says: 'first', reason: 'The judge gave no reason.' })
  const long = read(JSON.stringify({ winner: 'B', reason: 'so '.repeat(1_000) }))
  expect(long.says).toBe('second')
  expect(long.reason.length).toBeLessThanOrEqual(judgeLimits.reasonCharsMax)
})

test('P6: half a megabyte of beginnings is refused, not searched', () => {
  expect(read('{"winner":"'.repeat(50_000)).says).toBe('cannot_tell')
})
