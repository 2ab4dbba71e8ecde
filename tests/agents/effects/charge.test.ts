import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type CallPlan,
  measurePromptSize,
  toCharge,
  worstCaseCharge,
  worstCaseReservation,
} from '../../../src/agents/effects/price-call'
import type { ModelUsage } from '../../../src/agents/loop/message'

const prices = { input: 1_000_000, cached: 100_000, cacheWrite: 1_250_000, output: 5_000_000 }

const request: CallPlan['request'] = {
  messages: [{ role: 'user', text: 'What is in the tin? '.repeat(5) }],
  tools: [],
  maxOutputTokens: 500,
  signal: new AbortController().signal,
}
const plan: CallPlan = {
  ...measurePromptSize(request),
  request,
  model: {
    id: 'fake/one',
    provider: 'fake',
    isOffline: false,
    contextTokens: 8_000,
    outputTokensMax: 1_000,
    prices,
    call: () => Promise.reject(new Error('not called')),
  },
}
const promptMax = plan.promptTokensMax

const charge = (usage: ModelUsage | null, text = 'Tea.') =>
  toCharge(plan, { text, reasoning: '', calls: [], finish: 'stop', usage }, 7)

const reported = (over: Partial<ModelUsage> = {}): ModelUsage => ({
  inputTokens: 40,
  cachedTokens: 0,
  outputTokens: 20,
  reasoningTokens: 0,
  ...over,
})

describe('the charge of an answer', () => {
  it('B4 L18: whatever a provider reports, the charge is whole and within what was reserved, but for a recorded overrun', () => {
    const count = fc.oneof(
      fc.integer({ min: -600, max: 1_000 }),
      fc.double(),
      fc.double({ min: -1, max: 600, noNaN: true }),
      fc.constantFrom(-0, 1e12, Number.MAX_SAFE_INTEGER, promptMax, promptMax + 1, 500, 501),
    )
    const usages = fc.record(
      {
        inputTokens: count,
        cachedTokens: count,
        cacheWriteTokens: count,
        outputTokens: count,
        reasoningTokens: count,
      },
      {
        requiredKeys: ['inputTokens', 'cachedTokens', 'outputTokens', 'reasoningTokens'],
      },
    )
    const texts = fc.string({ maxLength: 4_000 })
    fc.assert(
      fc.property(fc.option(usages), texts, (usage, text) => {
        const charged = charge(usage, text)
        const { isPriced, isEstimated, durationMs, doubt, overrun, model, ...counts } = charged
        const most = worstCaseReservation(plan, 500)
        for (const each of Object.values(counts)) {
          expect(Number.isSafeInteger(each)).toBe(true)
          expect(each).toBeGreaterThanOrEqual(0)
        }
        const excess = overrun ?? { tokens: 0, microusd: 0 }
        expect(counts.inputTokens + counts.outputTokens).toBeLessThanOrEqual(
          most.tokens + excess.tokens,
        )
        expect(counts.microusd).toBeLessThanOrEqual(most.microusd + excess.microusd)
        expect(counts.cachedTokens).toBeLessThanOrEqual(counts.inputTokens)
        expect(counts.reasoningTokens).toBeLessThanOrEqual(counts.outputTokens)
        expect(doubt !== undefined).toBe(usage !== null && isEstimated)
        expect(model).toBe(plan.model.id)
      }),
      { numRuns: 1_000 },
    )
  })

  it.each<[string, Partial<ModelUsage>]>([
    ['negative input', { inputTokens: -1 }],
    ['negative output', { outputTokens: -1 }],
    ['a negative share from a cache', { cachedTokens: -1 }],
    ['no number', { inputTokens: Number.NaN }],
    ['no end', { outputTokens: Number.POSITIVE_INFINITY }],
    ['more than any model reads', { inputTokens: 1e12 }],
  ])('L18 B4: %s is no count: the worst case is charged, with a note', (_, over) => {
    const { doubt, ...charged } = charge(reported(over))
    expect(charged).toEqual({ ...worstCaseCharge(plan), durationMs: 7 })
    expect(doubt).toContain('cannot be true')
  })

  it.each<[string, Partial<ModelUsage>]>([
    ['a prompt longer than its bytes', { inputTokens: 2 * promptMax + 1_000 }],
    ['an answer longer than its limit', { outputTokens: 4_000 }],
  ])('B4: %s is charged in full, and the excess is recorded', (_, over) => {
    const usage = reported(over)
    const { overrun, ...charged } = charge(usage)
    expect(charged).toMatchObject({ ...usage, isEstimated: false })
    const most = worstCaseReservation(plan, 500)
    expect(overrun?.tokens).toBe(usage.inputTokens + usage.outputTokens - most.tokens)
    expect(charged.microusd).toBe(usage.inputTokens + 5 * usage.outputTokens)
    // an answer that is shorter than its limit pays for more of the prompt
    expect(overrun?.microusd).toBe(Math.max(0, charged.microusd - most.microusd))
  })

  it('L18: plausible usage is charged as reported, though the estimate was lower', () => {
    const usage = reported({ inputTokens: 90, cachedTokens: 50, reasoningTokens: 5 })
    expect(charge(usage)).toEqual({
      ...usage,
      microusd: 40 + 5 + 100,
      isPriced: true,
      isEstimated: false,
      durationMs: 7,
      model: 'fake/one',
    })
  })

  it('L18: parts of tokens are rounded up, and no part is more than its whole', () => {
    const usage = reported({
      inputTokens: 40.1,
      cachedTokens: 70,
      outputTokens: 19.5,
      reasoningTokens: 21,
    })
    expect(charge(usage)).toMatchObject({
      inputTokens: 41,
      cachedTokens: 41,
      outputTokens: 20,
      reasoningTokens: 20,
      isEstimated: false,
    })
  })
})
