import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  coversGrant,
  intersectGrants,
  isPlainGrant,
} from '../../../src/mcp-servers/tool/grant-pattern'

const word = fc.constantFrom('a', 'ab', 'b')
const grant = fc.array(word, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(':'))
const pattern = fc
  .array(fc.oneof(word, fc.constant('*')), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join(':'))

/** The rule as a regular expression, written another way than the code under test. */
function matchesByRule(pattern: string, grant: string): boolean {
  const parts = pattern.split(':')
  const source = parts.map((part, index) => {
    if (part !== '*') return part
    return index === parts.length - 1 ? '[^:]+(:[^:]+)*' : '[^:]+'
  })
  return new RegExp(`^${source.join(':')}$`).test(grant)
}

/** Every grant of up to five segments over an alphabet with one word no pattern names. */
const universe = (() => {
  let level = ['a', 'ab', 'b', 'z']
  const all = [...level]
  for (let depth = 1; depth < 5; depth++) {
    level = level.flatMap((each) => ['a', 'ab', 'b', 'z'].map((word) => `${each}:${word}`))
    all.push(...level)
  }
  return all
})()

describe('matching by segment', () => {
  test.each([
    ['github:read', 'github:read', true],
    ['github:read', 'github:write', false],
    ['github:*', 'github:read', true],
    ['github:*', 'github', false],
    ['*', 'github:read', true],
    ['aws:*', 'aws:s3:read:artifacts', true],
    ['aws:s3:read:art*', 'aws:s3:read:artifacts', false],
    ['postgres:*:read', 'postgres:main:read', true],
    ['postgres:*:read', 'postgres:main:write', false],
    ['postgres:*:read', 'postgres:a:b:read', false],
    ['github:read', 'github:read:more', false],
    ['', 'github:read', false],
  ])('M3: %s opens %s: %s', (pattern, grant, isMatch) => {
    expect(coversGrant(pattern, grant)).toBe(isMatch)
  })

  test('M3: any pattern matches any grant exactly when the rule says so', () => {
    void fc.assert(
      fc.property(pattern, grant, (pattern, grant) => {
        expect(coversGrant(pattern, grant)).toBe(matchesByRule(pattern, grant))
      }),
      { numRuns: 500 },
    )
  })

  test('M3: an intersection matches exactly what both patterns match', () => {
    void fc.assert(
      fc.property(pattern, pattern, (one, other) => {
        const met = intersectGrants(one, other)
        for (const grant of universe) {
          const isInBoth = matchesByRule(one, grant) && matchesByRule(other, grant)
          expect(met !== null && matchesByRule(met, grant)).toBe(isInBoth)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('M3: a pattern covers another exactly when it matches all that the other matches', () => {
    void fc.assert(
      fc.property(pattern, pattern, (outer, inner) => {
        const isSubset = universe.every(
          (grant) => !matchesByRule(inner, grant) || matchesByRule(outer, grant),
        )
        expect(coversGrant(outer, inner)).toBe(isSubset)
      }),
      { numRuns: 60 },
    )
  })

  test('M2: a wildcard or an empty segment in a resource is no plain grant', () => {
    expect(isPlainGrant('aws:s3:read:artifacts')).toBe(true)
    for (const grant of ['aws:s3:read:*', 'aws:s3:read:', 'aws::read', '', 'aws:a*'])
      expect(isPlainGrant(grant)).toBe(false)
  })
})
