import { expect, test } from 'vitest'
import {
  diffFiles,
  formatTooDifferent,
  toDiffDetails,
} from '../../../src/hub/agents/definition-rules'
import { measureLeastMs } from '../../support/measure-least'

const filesOf = (count: number, lines: number, toLine: (line: number, file: number) => string) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, file) => [
      `skills/s${file}/SKILL.md`,
      Array.from({ length: lines }, (_, line) => toLine(line, file)).join('\n'),
    ]),
  )

test('T15: one edit in each of many files is shown line by line', () => {
  const before = filesOf(62, 160, (line) => `line ${line}`)
  const after = filesOf(62, 160, (line, file) => (line === 80 ? `edit ${file}` : `line ${line}`))
  const diffs = diffFiles(before, after)
  expect(diffs).toHaveLength(62)
  expect(diffs.every(({ lines }) => lines?.length === 10)).toBe(true)
})

test('T15: a file that differs too much is counted, and leaves the budget to the others', () => {
  const lines = (from: number) => Array.from({ length: 1_200 }, (_, at) => `${from + at}`)
  const before = { a: lines(0).join('\n'), b: 'one\ntwo' }
  const after = { a: lines(5_000).slice(1).join('\n'), b: 'one\nthree' }
  const [a, b] = diffFiles(before, after)
  expect(a).toEqual({ path: 'a', lines: null, linesBefore: 1_200, linesAfter: 1_199 })
  expect(a && formatTooDifferent(a).replaceAll('\u00a0', ' ')).toBe(
    'Too different to show line by line: 1,200 lines before, 1,199 lines after.',
  )
  expect(b?.lines?.map((line) => line?.sign)).toEqual([' ', '-', '+'])
  expect(toDiffDetails(a ? [a] : [], 3)[0]?.message).toMatch(
    /^Differs from version 3:\nToo different to show line by line/,
  )
})

test('T15: a new file is shown as a whole, until too many lines are shown', () => {
  const diffs = diffFiles(
    {},
    filesOf(3, 1_900, (line) => `line ${line}`),
  )
  expect(diffs.map(({ lines }) => lines?.length ?? null)).toEqual([1_900, 1_900, null])
})

const random = (seed: number) => {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state < 1_073_741_824 ? 'a' : 'b'
  }
}

test.each([
  ['rewritten', (line: number) => `a${line}`, (line: number) => `b${line}`],
  ['reversed', (line: number) => `a${line}`, (line: number) => `a${2_500 - line}`],
  ['swapped', (line: number) => `a${line}`, (line: number) => `a${line ^ 1}`],
  ['of two lines in any order', random(1), random(2)],
] as const)('T15: 62 files that are %s are compared within one budget', (_how, one, other) => {
  // Each file alone took a quarter of a second.
  const [before, after] = [filesOf(62, 2_500, one), filesOf(62, 2_500, other)]
  expect(measureLeastMs(() => diffFiles(before, after), 5_000)).toBeLessThan(5_000)
  const diffs = diffFiles(before, after)
  expect(diffs.filter(({ lines }) => lines === null).length).toBeGreaterThan(55)
})
