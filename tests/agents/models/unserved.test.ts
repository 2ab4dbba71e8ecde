import { describe, expect, test } from 'vitest'
import {
  type CallPlan,
  measurePromptSize,
  toFailureCharge,
} from '../../../src/agents/effects/price-call'
import type { ModelFailure } from '../../../src/agents/loop/message'
import { classifyFailure, type FailureContext } from '../../../src/agents/models/classify-failure'
import { openAIRetryPolicy } from '../../../src/agents/models/providers/provider'

const context: FailureContext = {
  providerName: 'The server',
  modelName: 'm',
  keyVariable: 'OPENAI_COMPATIBLE_API_KEY',
  address: 'http://127.0.0.1:9/v1',
  addressSetting: 'OPENAI_COMPATIBLE_BASE_URL',
  secrets: [],
  now: 0,
  isUnreachable: false,
  hasResponse: false,
  chars: 0,
  retryPolicy: openAIRetryPolicy,
}
const request: CallPlan['request'] = {
  messages: [{ role: 'user', text: 'x'.repeat(4_000) }],
  tools: [],
  maxOutputTokens: 500,
  signal: new AbortController().signal,
}
const plan = (prices: CallPlan['model']['prices'] = { input: 1e6, cached: 1e6, output: 5e6 }) =>
  ({
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
  }) satisfies CallPlan

const refused = (statusCode: number, data: unknown = null) =>
  Object.assign(new Error('no'), { statusCode, data })
const failed = (over: Partial<ModelFailure>): ModelFailure => ({
  code: 'TIMEOUT',
  message: '',
  isRetryable: true,
  retryAfterMs: null,
  mayBeCharged: true,
  ...over,
})

describe('the charge of a call without an answer', () => {
  test.each([400, 401, 404, 429, 500, 503])('T5: %d without usage costs nothing', (status) => {
    expect(toFailureCharge(plan(), classifyFailure(refused(status), context), 1)).toBeNull()
  })

  test('T5: an error that reports usage is charged that usage', () => {
    const usage = { prompt_tokens: 900, completion_tokens: 20 }
    const failure = classifyFailure(refused(400, { error: { message: 'no' }, usage }), context)
    expect(toFailureCharge(plan(), failure, 1)).toMatchObject({
      inputTokens: 900,
      outputTokens: 20,
      microusd: 1_000,
      isEstimated: false,
    })
  })

  test('T5: a server that cannot be reached costs nothing and is down', () => {
    const failure = classifyFailure(new TypeError('x'), { ...context, isUnreachable: true })
    expect(toFailureCharge(plan(), failure, 1)).toBeNull()
    expect(failure.outage?.setting).toBe('OPENAI_COMPATIBLE_BASE_URL')
  })

  test.each([502, 503, 504, 520, 527, 530])(
    'T5: with %d a provider is down, and costs nothing; behind a part of the answer it has served that',
    (status) => {
      const down = classifyFailure(refused(status), context)
      expect(down.outage?.setting).toBe('OPENAI_COMPATIBLE_BASE_URL')
      expect(toFailureCharge(plan(), down, 1)).toBeNull()
      const begun = { ...context, hasResponse: true, chars: 800 }
      const broken = classifyFailure(refused(status), begun)
      expect(broken.outage).toBeUndefined()
      expect(toFailureCharge(plan(), broken, 1)).toMatchObject({ outputTokens: 200 })
    },
  )

  test.each([401, 408, 429, 500, 501, 519, 528, 529])('T5: %d is no outage', (status) => {
    expect(classifyFailure(refused(status), context).outage).toBeUndefined()
  })

  test('T5: an error of our own is not an outage', () => {
    const failure = classifyFailure(new TypeError('x'), context)
    expect(failure.outage).toBeUndefined()
  })

  test.each([
    [0, 0],
    [800, 200],
  ])(
    'T5: after %i characters a call costs its prompt and %i tokens, estimated',
    (chars, output) => {
      expect(toFailureCharge(plan(), failed({ received: { chars } }), 1)).toMatchObject({
        inputTokens: 1_004,
        outputTokens: output,
        isEstimated: true,
      })
    },
  )

  test('T5: the estimate is corrected by what the provider counted before', () => {
    const corrected = { ...plan(), ratio: { mean: 1.5, high: 2 } }
    const charge = toFailureCharge(corrected, failed({ received: { chars: 0 } }), 1)
    expect(charge?.inputTokens).toBe(1_506)
  })

  test('T5: a model without a price costs nothing', () => {
    const charge = toFailureCharge(plan(null), failed({ received: { chars: 800 } }), 1)
    expect(charge).toMatchObject({ microusd: 0, isPriced: false, outputTokens: 200 })
  })
})
