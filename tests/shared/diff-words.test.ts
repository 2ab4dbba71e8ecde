import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDiffBudget, diffLines } from '../../src/shared/diff-lines'
import { type ChangedLine, toWordDiff } from '../../src/shared/diff-words'

type Shown = ReturnType<typeof toWordDiff>[number]

const compare = (before: string, after: string, words = createDiffBudget()) =>
  toWordDiff(diffLines(before, after, createDiffBudget()) ?? [], words)
const isChanged = (line: Shown): line is ChangedLine => line !== null && 'parts' in line
const write = (line: Shown): string =>
  isChanged(line)
    ? `±${line.parts.map(({ sign, text }) => (sign === ' ' ? text : `[${sign}${text}]`)).join('')}`
    : `${line?.sign}${line?.text}`

test('a paragraph in which some words changed is one line that shows them', () => {
  expect(
    compare('One\n\nPlums ripen in late July.', 'One\n\nPlums ripen in early July.').map(write),
  ).toEqual([' One', ' ', '±Plums ripen in [-late][+early] July.'])
  expect(compare('a b\nc', 'a b c\nd').map(write)).toEqual(['±a b[+ c]', '-c', '+d'])
  expect(compare('a\nb c\nd', 'x\nb c e\nd f').map(write)).toEqual([
    '-a',
    '+x',
    '±b c[+ e]',
    '±d[+ f]',
  ])
})

test('a changed paragraph is compared with what it was, whatever stood before it', () => {
  expect(
    compare('a\n~~~\ncode\n~~~\n\nIt ends here.\nb', 'a\nIt stops here.\nb').map(write),
  ).toEqual([' a', '-~~~', '-code', '-~~~', '-', '±It [-ends][+stops] here.', ' b'])
  expect(compare('One two three.\nb', 'New\nOne two four.\nb').map(write)).toEqual([
    '+New',
    '±One two [-three][+four].',
    ' b',
  ])
})

test('of a long paragraph only what stands next to a change is shown', () => {
  const words = (from: number) =>
    Array.from({ length: 400 }, (_, at) => `word${from + at}`).join(' ')
  const [line, ...others] = compare(
    `${words(0)} late ${words(500)} b ${words(1_000)}`,
    `${words(0)} early ${words(500)} c ${words(1_000)}`,
  ).map(write)
  expect(others).toEqual([])
  expect(line).toMatch(
    /^±…(?: word\d+)+ \[-late\]\[\+early\](?: word\d+)+ …(?: word\d+)+ \[-b\]\[\+c\](?: word\d+)+ …$/,
  )
  expect(line?.length).toBeLessThan(400)
  const kept = compare(`${words(0)}\na`, `${words(0)}\nb`).map(write)[0]
  expect(kept).toMatch(/^ (?:word\d+ )+…$/)
})

test('a line that is replaced, and one beyond the budget, are shown as removed and added', () => {
  expect(compare('Plums are ripe', 'Nobody knows what happened').map(write)).toEqual([
    '-Plums are ripe',
    '+Nobody knows what happened',
  ])
  expect(compare('One two three', 'One two four', { editsLeft: 1 }).map(write)).toEqual([
    '-One two three',
    '+One two four',
  ])
})

const line = fc.array(fc.constantFrom('a', 'b', 'plum', ' ', '.', 'é', '😀'), { maxLength: 8 })
const text = fc
  .array(line, { maxLength: 5 })
  .map((lines) => lines.map((each) => each.join('')).join('\n'))

test('a difference by words still says all of both texts', async () => {
  await fc.assert(
    fc.property(text, text, (before, after) => {
      const shown = compare(before, after)
      const read = (sign: '-' | '+') =>
        shown
          .flatMap((each) => (isChanged(each) ? [each.parts] : each ? [[each]] : []))
          .map((parts) => parts.filter((part) => part.sign === ' ' || part.sign === sign))
          .filter((parts) => parts.length > 0)
          .map((parts) => parts.map((part) => part.text).join(''))
      const lines = (whole: string) => (whole === '' ? [] : whole.split('\n'))
      const sorted = (all: string[]) => all.filter((each) => each !== '').sort()
      expect(sorted(read('-'))).toEqual(sorted(lines(before)))
      expect(sorted(read('+'))).toEqual(sorted(lines(after)))
    }),
    { numRuns: 500 },
  )
})
