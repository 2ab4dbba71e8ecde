import type { ModelConnection } from '../hub/contract/hub'
import { outside } from '../shared/config'
import type { Settings } from '../shared/settings'
import type { CallUsage, ModelApi } from './contract/agents'
import {
  type CallPlan,
  measurePromptSize,
  toCharge,
  toFailureCharge,
  worstCaseReservation,
} from './effects/price-call'
import type { Charge } from './loop/event'
import type { Message } from './loop/message'
import { listAuto, listPrices, listProviders } from './models/list-providers'
import type { ModelRegistry } from './models/model-port'

interface ModelApiDeps {
  settings: Settings
  models: ModelRegistry
  now: () => number
}

const messages: Message[] = [{ role: 'user', text: 'Reply with the word OK.' }]

/** Enough for a short answer of a model that thinks first; an answer that is truncated proves as much. */
const outputTokensMax = 64

const textCharsMax = 200

/** Creates the API of model providers and of calls that test one. */
export function createModelApi({ settings, models, now }: ModelApiDeps): ModelApi {
  const plan = (override: string, connections: readonly ModelConnection[]): CallPlan => {
    const { model } = models.resolve({ override }, connections)
    const maxOutputTokens = Math.min(outputTokensMax, model.outputTokensMax)
    const signal = AbortSignal.timeout(outside.timeoutMs)
    const request = { messages, tools: [], maxOutputTokens, signal }
    return { model, request, ...measurePromptSize({ messages, tools: [] }) }
  }
  return {
    listProviders: (connections) => listProviders(settings, connections),
    listAuto: (connections) => listAuto({ settings, connections }),
    listPrices: (connections) => listPrices(settings, connections),

    planTrial(name, connections) {
      const call = plan(name, connections)
      const worst = worstCaseReservation(call, call.request.maxOutputTokens)
      return { model: call.model.id, ...worst }
    },

    async tryModel(name, connections) {
      const call = plan(name, connections)
      const startedAt = now()
      const result = await call.model.call(call.request)
      const durationMs = now() - startedAt
      if (result.ok) {
        const usage = toUsage(toCharge(call, result.answer, durationMs))
        const text = result.answer.text.trim().slice(0, textCharsMax)
        return { usage, durationMs, text, failure: null }
      }
      const charge = toFailureCharge(call, result.failure, durationMs)
      const { message, detail } = result.failure
      const failure = detail ? `${message} The provider wrote: ${detail}` : message
      return { usage: charge && toUsage(charge), durationMs, text: '', failure }
    },
  }
}

/** Returns a charge as the hub takes the usage of a single call. */
export const toUsage = (charge: Charge): CallUsage => ({
  inputTokens: charge.inputTokens,
  cachedTokens: charge.cachedTokens,
  outputTokens: charge.outputTokens,
  reasoningTokens: charge.reasoningTokens,
  microusd: charge.microusd,
  isPriced: charge.isPriced,
  isEstimated: charge.isEstimated,
  durationMs: charge.durationMs,
})
