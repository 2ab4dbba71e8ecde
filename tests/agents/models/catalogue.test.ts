import { expect, test } from 'vitest'
import {
  calculateCost,
  calculateCostMax,
  catalogue,
  findModel,
} from '../../../src/agents/models/catalogue'

const usage = { inputTokens: 1_000, cachedTokens: 0, outputTokens: 100, reasoningTokens: 0 }
const prices = { input: 3_000_000, cached: 300_000, cacheWrite: 3_750_000, output: 15_000_000 }

test('L18 B7: a price is that of the exact name, also with the date of a version', () => {
  expect(findModel('gpt-5-mini')).toBe(catalogue['gpt-5-mini'])
  expect(findModel('gpt-5')).toBe(catalogue['gpt-5'])
  expect(findModel('Claude-Sonnet-4-5-20250929')).toBe(catalogue['claude-sonnet-4-5'])
  expect(findModel('gpt-5-mini-2025-08-07')).toBe(catalogue['gpt-5-mini'])
  expect(findModel('claude-haiku-4-5@20251001')).toBe(catalogue['claude-haiku-4-5'])
  expect(findModel('claude-haiku-4-5-latest')).toBe(catalogue['claude-haiku-4-5'])
})

test('L18 B7: another name has the limits of the nearest one, and no price', () => {
  for (const [name, nearest] of [
    ['gpt-5-pro', 'gpt-5'],
    ['gpt-5-pro-2025-10-06', 'gpt-5'],
    ['gpt-4o-mini-audio-preview', 'gpt-4o-mini'],
    ['o3-pro', 'o3'],
    ['gpt-5-mini-2025', 'gpt-5-mini'],
    ['claude-opus-4-8-fast', 'claude-opus-4-8'],
    ['anthropic/claude-haiku-4-5', 'claude-haiku-4-5'],
  ] as const) {
    const { contextTokens } = catalogue[nearest] ?? {}
    expect(findModel(name), name).toMatchObject({ prices: null, similarTo: nearest, contextTokens })
  }
  const llama = findModel('meta-llama/llama-3.3-70b-instruct')
  expect(llama).toEqual(catalogue['llama-3.3'])
})

test('L18: a known name inside another word is not that model', () => {
  expect(findModel('foo32').prices).toBeNull()
  expect(findModel('o3').prices).not.toBeNull()
})

test('B7: an unknown model has no price and 8,192 tokens of context', () => {
  for (const name of ['somebody-s-model', '', '__proto__', 'constructor']) {
    expect(findModel(name)).toMatchObject({ prices: null, contextTokens: 8_192 })
  }
})

test('B7: open models have limits but no price, because that depends on the host', () => {
  expect(findModel('qwen3-8b')).toMatchObject({ prices: null, contextTokens: 131_072 })
})

test('B7: an operator may override an entry', () => {
  const own = { contextTokens: 5, outputTokensMax: 5, prices }
  expect(findModel('gpt-5', { ...catalogue, 'gpt-5': own })).toBe(own)
})

test('B1: a cost is whole micro-dollars, rounded up', () => {
  expect(calculateCost(prices, usage)).toBe(3_000 + 1_500)
  expect(calculateCost({ input: 1, cached: 1, output: 1 }, usage)).toBe(1)
  expect(calculateCost(prices, { ...usage, cachedTokens: 400, cacheWriteTokens: 500 })).toBe(
    100 * 3 + 400 * 0.3 + 500 * 3.75 + 1_500,
  )
})

test('B7: a model without prices has a cost of 0', () => {
  expect(calculateCost(null, usage)).toBe(0)
  expect(calculateCostMax(null, 1_000, 100)).toBe(0)
})

test('B4: no call of that size can cost more than its worst case', () => {
  for (const cachedTokens of [0, 300, 1_000, 5_000]) {
    for (const cacheWriteTokens of [0, 700, 5_000]) {
      const cost = calculateCost(prices, { ...usage, cachedTokens, cacheWriteTokens })
      expect(cost).toBeLessThanOrEqual(calculateCostMax(prices, 1_000, 100))
      expect(Number.isInteger(cost)).toBe(true)
    }
  }
})
