import type { Reservation } from '../../hub/contract'
import { countChars, toTokens } from '../loop/estimate'
import type { Charge } from '../loop/event'
import type { ModelAnswer, ModelUsage } from '../loop/message'
import { boundTokens } from '../models/bound-tokens'
import { costOf, worstCostOf } from '../models/catalogue'
import { estimateTokens } from '../models/estimate-tokens'
import type { Model, ModelRequest } from '../models/model-port'
import type { Prompt } from '../trace/measure-prompt'
import { judgeUsage, limitUsage } from './judge-usage'

/** A call that is about to be made. Its sizes are those of the whole prompt. */
export interface CallPlan extends PromptSize {
  request: ModelRequest
  model: Model
}

/** How long a prompt is. */
export interface PromptSize {
  /** Estimated. */
  promptTokens: number
  /** The most it can be: a budget must not rest on an estimate. */
  promptTokensMax: number
}

/** Counted once a prompt: it is asked for several times. */
export const sizePrompt = ({ messages, tools }: Prompt): PromptSize => ({
  promptTokens: estimateTokens(messages, tools),
  promptTokensMax: boundTokens(messages, tools),
})

/** Of a prompt in two parts; the estimate of each is rounded up. */
export const addSizes = (one: PromptSize, other: PromptSize): PromptSize => ({
  promptTokens: one.promptTokens + other.promptTokens,
  promptTokensMax: one.promptTokensMax + other.promptTokensMax,
})

export function worstCase({ model, promptTokensMax }: CallPlan, outputTokens: number): Reservation {
  return {
    tokens: promptTokensMax + outputTokens,
    microusd: worstCostOf(model.prices, promptTokensMax, outputTokens),
  }
}

/** How long the answer may get so that prompt and answer stay within the reservation. */
export function affordableOutput(plan: CallPlan, reservation: Reservation): number {
  const prompt = worstCase(plan, 0)
  const byTokens = reservation.tokens - prompt.tokens
  const price = plan.model.prices?.output ?? 0
  const left = reservation.microusd - prompt.microusd
  const byMoney = price > 0 ? Math.floor((left * 1_000_000) / price) : Number.POSITIVE_INFINITY
  return Math.max(0, Math.min(plan.request.maxOutputTokens, byTokens, byMoney))
}

/** What the call is charged when its answer gets lost (L36). */
export function worstCharge(plan: CallPlan): Charge {
  const { maxOutputTokens } = plan.request
  return {
    inputTokens: plan.promptTokensMax,
    cachedTokens: 0,
    outputTokens: maxOutputTokens,
    reasoningTokens: 0,
    microusd: worstCase(plan, maxOutputTokens).microusd,
    isPriced: plan.model.prices !== null,
    isEstimated: true,
    durationMs: 0,
    model: plan.model.id,
  }
}

/** For a provider that tells no usage (L18). */
function estimateUsage(plan: CallPlan, answer: ModelAnswer): ModelUsage {
  const { text, reasoning, calls, providerParts } = answer
  const said = countChars({
    role: 'assistant',
    text,
    calls,
    ...(providerParts === undefined ? {} : { providerParts }),
  })
  return {
    inputTokens: plan.promptTokens,
    cachedTokens: 0,
    // more than was asked for is not answered, nor billed
    outputTokens: Math.min(plan.request.maxOutputTokens, toTokens(said + reasoning.length)),
    reasoningTokens: toTokens(reasoning.length),
  }
}

/**
 * What an answer is charged: whole, never negative, and at most what the call had reserved, whatever
 * the provider tells. Usage that cannot be true is not believed, and a note says so (B4, L18).
 */
export function chargeOf(plan: CallPlan, answer: ModelAnswer, durationMs: number): Charge {
  const { prices } = plan.model
  const bounds = { input: plan.promptTokensMax, output: plan.request.maxOutputTokens }
  const told = answer.usage && judgeUsage(answer.usage, bounds)
  const usage = told ?? limitUsage(estimateUsage(plan, answer), bounds)
  return {
    ...usage,
    microusd: costOf(prices, usage),
    isPriced: prices !== null,
    isEstimated: told === null,
    durationMs,
    model: plan.model.id,
    ...(answer.usage !== null && told === null && { doubt: unbelievable }),
  }
}

const unbelievable =
  'The provider told a usage that cannot be true, so this call is charged by an estimate.'
