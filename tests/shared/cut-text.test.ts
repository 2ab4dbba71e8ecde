import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { cutText, shortenText } from '../../src/shared/cut-text'

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })
const charactersOf = (text: string) => [...segmenter.segment(text)].map(({ segment }) => segment)

test.each([
  ['plain text', 5, 'plain'],
  ['', 3, ''],
  ['abc', 3, 'abc'],
  ['abc', 0, ''],
  ['abc', -1, ''],
  ['abc', 1.9, 'a'],
  ['a😀b', 2, 'a'],
  ['a😀b', 3, 'a😀'],
  ['e\u0301e\u0301', 3, 'e\u0301'],
  ['x👩‍👩‍👧‍👦y', 8, 'x'],
  ['x👩‍👩‍👧‍👦y', 12, 'x👩‍👩‍👧‍👦'],
  ['🇩🇪🇫🇷', 4, '🇩🇪'],
  ['🇩🇪🇫🇷', 6, '🇩🇪'],
  ['👍🏽👍🏽', 6, '👍🏽'],
  ['❤️x', 1, ''],
  ['a\r\nb', 2, 'a'],
  ['\u1100\u1161\u11a8\u1100\u1161\u11a8', 4, '\u1100\u1161\u11a8'],
  ['कि', 1, ''],
  ['ก็', 1, ''],
])('texts: %j cut to %d is %j', (text, charsMax, expected) => {
  // Nothing comes before the first character: it is cut only within its code points.
  const isWhole = expected === '' && charsMax > 0 && text.length > charsMax
  expect(cutText(text, charsMax)).toBe(isWhole ? text.slice(0, charsMax) : expected)
})

const character = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
  fc.constantFrom(
    '👩‍👩‍👧‍👦',
    '🇩🇪',
    'e\u0301\u0323',
    '👍🏽',
    '\r\n',
    'क्षि',
    'a',
    ' ',
    '\u200d',
    '\ufe0f',
  ),
)
const text = fc.array(character, { maxLength: 60 }).map((all) => all.join(''))

test('texts: a cut is a beginning of whole characters, as long as fits', async () => {
  await fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 200 }), (whole, charsMax) => {
      const cut = cutText(whole, charsMax)
      expect(cut.length).toBeLessThanOrEqual(charsMax)
      if (whole.length <= charsMax) {
        expect(cut).toBe(whole)
        return
      }
      expect(whole.toWellFormed().startsWith(cut)).toBe(true)
      expect(cut.isWellFormed()).toBe(true)
      // The longest beginning of whole characters, unless the next one is very long itself.
      const characters = charactersOf(whole)
      let fitting = ''
      while (fitting.length + (characters[0]?.length ?? 0) <= charsMax)
        fitting += characters.shift()
      const next = characters[0]?.length ?? 0
      if (next < 32 && fitting !== '' && !/\p{RI}{30}/u.test(whole)) {
        expect(cut).toBe(fitting.toWellFormed())
      }
    }),
  )
})

test('texts: a mark that never ends is cut between its code points, and quickly', () => {
  const zalgo = `a${'\u0301'.repeat(1_000_000)}`
  expect(cutText(zalgo, 500_000)).toHaveLength(500_000)
  const flags = '🇩🇪'.repeat(100_000)
  expect(cutText(flags, 200_001)).toBe('🇩🇪'.repeat(50_000))
})

test('texts: what is shortened ends in an ellipsis within its limit', async () => {
  expect(shortenText('one two three', 8)).toBe('one two…')
  expect(shortenText('one two', 7)).toBe('one two')
  await fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 80 }), (whole, charsMax) => {
      const short = shortenText(whole, charsMax)
      expect(short.length).toBeLessThanOrEqual(charsMax)
      expect(short.endsWith('…') || short === whole).toBe(true)
    }),
  )
})

const sources = import.meta.glob<string>('../../src/**/*.{ts,tsx}', {
  query: '?raw',
  import: 'default',
  eager: true,
})

test('texts: no source cuts a text that people read by itself', () => {
  const cutting = Object.entries(sources).flatMap(([path, source]) =>
    source
      .split('\n')
      .filter((line) => /\.slice\(0, [^)]*[mM]ax[^)]*\)[^'`]*(\.toWellFormed\(\)|…)/.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  )
  expect(cutting.filter((line) => !line.includes('shared/cut-text.ts'))).toEqual([])
})
