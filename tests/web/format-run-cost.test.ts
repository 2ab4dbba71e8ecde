import { expect, test } from 'vitest'
import { formatRunCost } from '../../src/web/agents/edit-page'

const facts = { activationTokensMax: 100_000, runCostMaxMicrousd: 1_500_000 }
const daily = (costPerDayMicrousd: number | null) => ({ budget: { costPerDayMicrousd } })

test('pages: the most that a run costs is never above the budget a day', () => {
  const format = (of: object) => formatRunCost(of as Parameters<typeof formatRunCost>[0])
  expect(format({ ...facts, ...daily(null) })).toBe('$1.50 (100,000 tokens)')
  expect(format({ ...facts, ...daily(2_000_000) })).toBe('$1.50 (100,000 tokens)')
  expect(format({ ...facts, ...daily(500_000) })).toMatch(/^\$0\.50, its budget a day/)
  expect(format({ ...facts, runCostMaxMicrousd: null, ...daily(1) })).toContain('known price')
})
