import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ModelRequestResult } from '../../../src/agents/contract/coding-agents'
import { toPricedRequest, toRequestCharge } from '../../../src/agents/effects/admit-request'
import { worstCaseCharge } from '../../../src/agents/effects/price-call'
import type { OpenRequest } from '../../../src/agents/loop/state'

const prices = { input: 1_000_000, cached: 100_000, cacheWrite: 1_250_000, output: 5_000_000 }
const model = { id: 'anthropic/one', prices }
const worst = worstCaseCharge(toPricedRequest(model, 3_000, 200))
const open: OpenRequest = { request: 1, startedAt: 0, worst }

const usage = {
  inputTokens: 1_000,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 100,
  reasoningTokens: 0,
}
const result = (over: Partial<ModelRequestResult> = {}): ModelRequestResult => ({
  status: 200,
  finish: 'stop',
  usage,
  mayBeCharged: true,
  problem: null,
  ...over,
})
const charge = (over: Partial<ModelRequestResult>) => toRequestCharge(model, open, result(over), 7)

const finishes = ['stop', 'tool-calls', 'length', 'error', 'cancelled', 'unknown'] as const

describe('the charge of a model request of a program', () => {
  test('X4: a request whose usage never arrives is charged the worst case that is reserved', () => {
    expect(worst).toMatchObject({ inputTokens: 3_000, outputTokens: 200, microusd: 4_750 })
    for (const finish of finishes) {
      for (const status of [200, null]) {
        const charged = charge({ status, finish, usage: null })
        expect(charged, finish).toEqual({ ...worst, durationMs: 7 })
      }
      expect(charge({ finish, usage: null, mayBeCharged: false })).toBeNull()
    }
    const elsewhere = { ...model, id: 'anthropic/two' }
    for (const known of [null, elsewhere]) {
      expect(toRequestCharge(known, open, result(), 7)).toEqual({ ...worst, durationMs: 7 })
    }
  })

  test('X4 B4: what the provider counts is charged, all of it, and what was not reserved is recorded', () => {
    const count = fc.oneof(
      fc.integer({ min: 0, max: 20_000 }),
      fc.double({ min: 0, max: 5_000, noNaN: true }),
    )
    const counts = fc.record({
      inputTokens: count,
      cachedTokens: count,
      cacheWriteTokens: count,
      outputTokens: count,
      reasoningTokens: count,
    })
    fc.assert(
      fc.property(counts, (reported) => {
        const charged = charge({ usage: reported })
        if (!charged) throw new Error('not charged')
        const { inputTokens, outputTokens, microusd, overrun } = charged
        expect(inputTokens).toBe(Math.ceil(reported.inputTokens))
        expect(outputTokens).toBe(Math.ceil(reported.outputTokens))
        expect(charged).toMatchObject({ isEstimated: false, model: model.id })
        const excess = overrun ?? { tokens: 0, microusd: 0 }
        expect(excess).toEqual({
          tokens: Math.max(0, inputTokens + outputTokens - 3_200),
          microusd: Math.max(0, microusd - worst.microusd),
        })
      }),
    )
  })

  test.each([
    { inputTokens: -1 },
    { outputTokens: Number.NaN },
    { cachedTokens: -1 },
    { cacheWriteTokens: -5 },
    { inputTokens: Number.POSITIVE_INFINITY },
    { outputTokens: 1e13 },
  ])('X4: usage with %o is not believed: the worst case is charged, with a note', (wrong) => {
    const { doubt, ...charged } = charge({ usage: { ...usage, ...wrong } }) ?? {}
    expect(charged).toEqual({ ...worst, durationMs: 7 })
    expect(doubt).toContain('cannot be true')
    const unbilled = charge({ usage: { ...usage, ...wrong }, mayBeCharged: false })
    expect(unbilled).toMatchObject({ microusd: worst.microusd })
  })
})
