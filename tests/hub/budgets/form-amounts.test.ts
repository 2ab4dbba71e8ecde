import { expect, test } from 'vitest'
import {
  formatPercent,
  formatTokens,
  parsePercent,
  parseTokens,
} from '../../../src/web/budgets/form-amounts'
import { formatDollars, parseDollars } from '../../../src/web/form/dollars'
import { invalidText } from '../../../src/web/form/form-state'

test('B2: a formatted limit parses back exactly, to the micro-dollar, the token and the share', () => {
  for (const amount of [null, 0, 1, 500, 12_340_000, 999_999_999_999_999, 1_000_000_000_000_000]) {
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
