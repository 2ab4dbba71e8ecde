import { expect, test } from 'vitest'
import {
  readLimit,
  readShare,
  readTokens,
  writeLimit,
  writeShare,
  writeTokens,
} from '../../../src/hub/budgets/typed-amounts'

test('B2: a formatted limit parses back exactly, to the micro-dollar, the token and the share', () => {
  for (const amount of [null, 0, 1, 500, 12_340_000, 999_999_999_999_999, 1_000_000_000_000_000]) {
    expect(readLimit(writeLimit(amount))).toBe(amount)
    expect(readTokens(writeTokens(amount))).toBe(amount)
  }
  for (const share of [0, 0.29, 0.57, 0.8, 0.905, 0.12345678, 1]) {
    expect(readShare(writeShare(share))).toBe(share)
  }
  expect(readTokens('2 000 000')).toBe(2_000_000)
  for (const text of ['1,00', '1.000', '12,3456', '-5', '1e6']) {
    expect(readTokens(text), text).toBeUndefined()
  }
})
