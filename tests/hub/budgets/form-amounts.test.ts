import { expect, test } from 'vitest'
import {
  formatPercent,
  formatTokens,
  parsePercent,
  parseTokens,
} from '../../../src/web/budgets/budget-edit-page'
import {
  describeDollars,
  formatDollars,
  invalidText,
  parseDollars,
} from '../../../src/web/form/form-state'

test('B2: a formatted limit parses back exactly, to the micro-dollar, the token and the share', () => {
  for (const amount of [
    null,
    0,
    1,
    500,
    1_125_000,
    250_000_100_000,
    12_340_000,
    999_999_999_999_999,
    1_000_000_000_000_000,
  ]) {
    expect(parseDollars(formatDollars(amount))).toBe(amount)
    expect(parseTokens(formatTokens(amount))).toBe(amount)
  }
  for (const share of [0, 0.29, 0.57, 0.8, 0.905, 0.12345678, 1]) {
    expect(parsePercent(formatPercent(share))).toBe(share)
  }
  expect(parseTokens('2 000 000')).toBe(2_000_000)
  for (const text of ['1,00', '1.000', '12,3456', '-5', '1e6']) {
    expect(parseTokens(text), text).toBe(invalidText)
  }
})

test.each<[string, number | null]>([
  ['', null],
  ['0.25', 250_000],
  ['0,25', 250_000],
  [' $0.25 ', 250_000],
  ['$ 0,25', 250_000],
  ['0,25 $', 250_000],
  ['0.125', 125_000],
  ['0,125', 125_000],
  ['1.0000', 1_000_000],
  ['1.0005', 1_000_500],
  ['1000', 1_000_000_000],
  ['1,000.50', 1_000_500_000],
  ['1.000,50', 1_000_500_000],
  ['1,000,000', 1_000_000_000_000],
  ['1.000.000', 1_000_000_000_000],
])('B2: %j are dollars', (text, microusd) => expect(parseDollars(text)).toBe(microusd))

test.each([
  ['1.000', '1.000 can be read in two ways: enter 1.0000 or 1000.'],
  ['$1,500', '1,500 can be read in two ways: enter 1.5000 or 1500.'],
  ...['5 cents', '-1', '1e3', '0.', '.5', '1,0,0', '1.000,000.5', '$', '€2', '1 000'].map(
    (text): [string, string] => [text, 'Enter dollars.'],
  ),
])('B2: %j are no dollars, and the message says how to enter them', (text, message) => {
  expect(parseDollars(text)).toBe(invalidText)
  expect(describeDollars(text, 'Enter dollars.')).toBe(message)
})
