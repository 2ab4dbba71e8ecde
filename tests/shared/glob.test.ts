import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findPlaces, matchesGlob } from '../../src/shared/glob'
import { measureLeastMs } from '../support/measure-least'

// Of the tests of Go's path.Match and of Kirk Krauss' "Matching Wildcards", those with `*` alone.
test.each([
  ['', '', true],
  ['', 'x', false],
  ['x', '', false],
  ['abc', 'abc', true],
  ['*', '', true],
  ['*', 'abc', true],
  ['**', 'abc', true],
  ['*c', 'abc', true],
  ['*b', 'abc', false],
  ['a*', 'a', true],
  ['a*', 'abc', true],
  ['*a*', 'a', true],
  ['a*a', 'a', false],
  ['ab*bc', 'abc', false],
  ['ab*bc', 'abbc', true],
  ['a*b*c*d*e*', 'axbxcxdxexxx', true],
  ['a*b*c*d*e*', 'axbxcxxexxx', false],
  ['*ccd', 'abcccd', true],
  ['*issip*ss*', 'mississipissippi', true],
  ['xxxx*zzy*fffff', 'xxxxzzzzzzzzyf', false],
  ['xxx*zzy*f', 'xxxxzzzzzzzzyf', true],
  ['xy*xyz', 'xyxyxyxyz', true],
  ['mi*sip*', 'mississippi', true],
  ['abc*abc*abc', 'abcabczzzde', false],
  ['*aabbaa*a*', 'aaabbaabbaab', true],
  ['a*aar', 'aaar', true],
  ['aa*aar', 'aaar', false],
  ['*a*b*ba*ca*aaaa*fa*ga*gggg*b*', 'aaabbaabbacaxaaaaxfaxgaxggggxb', true],
  ['*abac*', 'ababac', true],
  ['*aaab*', 'aaaaab', true],
  ['hub_*', 'hub_search', true],
  ['hub.*', 'hub_search', false],
  ['*\n*', 'a\nb', true],
  ['*', 'a\nb', true],
])('M3: the pattern %j against %j: %s', (pattern, text, isMatch) => {
  expect(matchesGlob(pattern, text)).toBe(isMatch)
})

/** Decides by every way to divide the text, as a table of all beginnings of pattern and text. */
function matchesByTable(pattern: string, text: string): boolean {
  let row = Array.from({ length: text.length + 1 }, (_, at) => at === 0)
  for (const sign of pattern) {
    const next: boolean[] = []
    for (let at = 0; at <= text.length; at++) {
      const isOpen = sign === '*' ? row[at] || next[at - 1] : row[at - 1] && text[at - 1] === sign
      next.push(isOpen === true)
    }
    row = next
  }
  return row.at(-1) === true
}

const few = (letters: string, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...letters), maxLength })

test('M3: a pattern matches what it matches when every way is tried', () => {
  fc.assert(
    fc.property(few('ab*', 12), few('ab', 20), (pattern, text) => {
      expect(matchesGlob(pattern, text)).toBe(matchesByTable(pattern, text))
    }),
    { numRuns: 2_000 },
  )
})

test('M3: a part is found in all its places, those that overlap too', () => {
  fc.assert(
    fc.property(few('ab', 5), few('ab', 30), (part, text) => {
      fc.pre(part !== '')
      const all = Array.from(text, (_, at) => at).filter((at) => text.startsWith(part, at))
      expect([...findPlaces(part, text)]).toEqual(all)
    }),
    { numRuns: 1_000 },
  )
})

const many = 500_000
test.each([
  ['********************x', 'hub_create_comment'.repeat(many / 20)],
  [`${'*'.repeat(many)}x`, 'a'.repeat(many)],
  [`${'a*'.repeat(many / 2)}b`, 'a'.repeat(many)],
  [`${'*a'.repeat(many / 2)}b`, 'a'.repeat(many)],
  [`*${'a'.repeat(many / 2)}b*`, 'a'.repeat(many)],
  [`*b${'a'.repeat(many / 2)}*`, 'a'.repeat(many)],
  [`*${'ab'.repeat(many / 4)}aa*`, 'ab'.repeat(many / 2)],
])('M3: a long text costs a hostile pattern no more than its length: %.12s…', (pattern, text) => {
  // With a backtracking engine this would not end; with a quadratic one, it would take minutes.
  const match = () => expect(matchesGlob(pattern, text)).toBe(false)
  expect(measureLeastMs(match, 5_000)).toBeLessThan(5_000)
})
