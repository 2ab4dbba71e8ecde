import { expect, test } from 'vitest'
import { findBlocked, findExpressionMark } from '../../src/shared/glob'
import { measureLeastMs } from '../support/measure-least'

test.each([
  ['rm -rf', { command: 'sudo RM -rf /' }],
  ['rm -rf', { command: 'rm \n\t -rf /' }],
  ['rm*-rf', { argv: ['rm', '-v', '-rf'] }],
  ['drop table', { deep: [{ sql: 'DROP\nTABLE users' }] }],
  ['"price"', { price: 1 }],
  ['"amount":100', { amount: 100 }],
  ['say "hi"', { content: 'They say "hi".' }],
  ['169.254.169.254', { url: 'http://169.254.169.254/latest' }],
  ['c:*windows', { path: 'C:\\Windows' }],
  ['straße', { street: 'STRAßE 1' }],
  ['*', {}],
])('M3: the blocked pattern %j matches %j', (pattern, args) => {
  expect(findBlocked(['never', pattern], args)).toBe(pattern)
})

test.each([
  ['rm -rf', { command: 'rm -r' }],
  ['rm -rf', { a: 'rm', b: '-rf' }],
  ['169.254.169.254', { url: 'http://169x254.169.254/' }],
  ['format ', { content: 'formatted' }],
])('M3: the blocked pattern %j does not match %j', (pattern, args) => {
  expect(findBlocked([pattern], args)).toBeUndefined()
})

test('M3: large arguments cost many hostile patterns no more than their length', () => {
  const patterns = Array.from({ length: 100 }, (_, index) => `${'a'.repeat(199 - index)}*b`)
  const large = { text: 'a'.repeat(250_000), parts: Array(20_000).fill('a') }
  const find = () => expect(findBlocked(patterns, large)).toBe(undefined)
  expect(measureLeastMs(find, 5_000)).toBeLessThan(5_000)
})

// What authors of lists of forbidden commands write, from public configurations of agents.
test.each([
  'rm\\s+-rf|DROP TABLE',
  'rm\\s+-rf',
  'DROP TABLE|DELETE FROM',
  '^sudo',
  '/etc/passwd$',
  'password=.+',
  'secret.*key',
  '\\bkey\\b',
  '[0-9]{16}',
  'sk-[A-Za-z0-9]+',
  '(?i)drop',
  '(a+)+b',
  '.*',
  'https?://',
  '\\$\\(.*\\)',
])('M3: %j is a regular expression', (pattern) => {
  expect(findExpressionMark(pattern)).not.toBeNull()
})

test.each(['rm -rf', 'rm *-rf', 'DROP TABLE', 'os.system', '*.pem', '"price"', 'a/b:c@d', '日本'])(
  'M3: %j is a text',
  (pattern) => {
    expect(findExpressionMark(pattern)).toBeNull()
  },
)
