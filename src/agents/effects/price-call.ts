import type { Reservation } from '../../hub/contract/hub'
import { countChars, estimateTokensOfChars } from '../loop/estimate'
import type { Charge } from '../loop/event'
import type { ModelAnswer, ModelUsage } from '../loop/message'
import { calculateCost, calculateCostMax } from '../models/catalogue'
import { countTokensMax } from '../models/count-tokens-max'
import { estimateTokens } from '../models/estimate-tokens'
import type { Model, ModelRequest } from '../models/model-port'
import type { Prompt } from './measure-prompt'
import { clampUsage, validateUsage } from './validate-usage'

/** A model call before it is sent, with the size of its whole prompt. */
export interface CallPlan extends PromptSize {
  request: ModelRequest
  model: Model
}

/** The size of a prompt, in tokens. */
export interface PromptSize {
  /** Estimated. */
  promptTokens: number
  /** Upper bound: a budget must not depend on an estimate. */
  promptTokensMax: number
}

/** Measures a prompt. Call it once per prompt: the result is used several times. */
export const measurePromptSize = ({ messages, tools }: Prompt): PromptSize => ({
  promptTokens: estimateTokens(messages, tools),
  promptTokensMax: countTokensMax(messages, tools),
})

/** Adds the sizes of two parts of a prompt; the estimate of each is rounded up. */
export const addPromptSizes = (one: PromptSize, other: PromptSize): PromptSize => ({
  promptTokens: one.promptTokens + other.promptTokens,
  promptTokensMax: one.promptTokensMax + other.promptTokensMax,
})

/** Returns the most that a call can take with an answer of so many tokens. */
export function worstCaseReservation(
  { model, promptTokensMax }: CallPlan,
  outputTokens: number,
): Reservation {
  return {
    tokens: promptTokensMax + outputTokens,
    microusd: calculateCostMax(model.prices, promptTokensMax, outputTokens),
  }
}

/** Returns the most tokens that the answer may have within the reservation. */
export function affordableOutputTokens(plan: CallPlan, reservation: Reservation): number {
  const prompt = worstCaseReservation(plan, 0)
  const byTokens = reservation.tokens - prompt.tokens
  const price = plan.model.prices?.output ?? 0
  const left = reservation.microusd - prompt.microusd
  const byMoney = price > 0 ? Math.floor((left * 1_000_000) / price) : Number.POSITIVE_INFINITY
  return Math.max(0, Math.min(plan.request.maxOutputTokens, byTokens, byMoney))
}

/** Returns the charge of a call whose answer is lost. */
export function worstCaseCharge(plan: CallPlan): Charge {
  const { maxOutputTokens } = plan.request
  return {
    inputTokens: plan.promptTokensMax,
    cachedTokens: 0,
    outputTokens: maxOutputTokens,
    reasoningTokens: 0,
    microusd: worstCaseReservation(plan, maxOutputTokens).microusd,
    isPriced: plan.model.prices !== null,
    isEstimated: true,
    durationMs: 0,
    model: plan.model.id,
  }
}

/** Estimates the usage of a call whose provider reported none. */
function estimateUsage(plan: CallPlan, answer: ModelAnswer): ModelUsage {
  const { text, reasoning, calls, providerParts } = answer
  const answerChars = countChars({
    role: 'assistant',
    text,
    calls,
    ...(providerParts === undefined ? {} : { providerParts }),
  })
  return {
    inputTokens: plan.promptTokens,
    cachedTokens: 0,
    // a provider neither returns nor bills more than the limit
    outputTokens: Math.min(
      plan.request.maxOutputTokens,
      estimateTokensOfChars(answerChars + reasoning.length),
    ),
    reasoningTokens: estimateTokensOfChars(reasoning.length),
  }
}

/**
 * Returns the charge of an answer: whole tokens, never negative, and at most what the call had
 * reserved, whatever the provider reports. Implausible usage is replaced by an estimate, with a
 * note.
 */
export function toCharge(plan: CallPlan, answer: ModelAnswer, durationMs: number): Charge {
  const { prices } = plan.model
  const bounds = { input: plan.promptTokensMax, output: plan.request.maxOutputTokens }
  const reported = answer.usage && validateUsage(answer.usage, bounds)
  const usage = reported ?? clampUsage(estimateUsage(plan, answer), bounds)
  return {
    ...usage,
    microusd: calculateCost(prices, usage),
    isPriced: prices !== null,
    isEstimated: reported === null,
    durationMs,
    model: plan.model.id,
    ...(answer.usage !== null && reported === null && { doubt: implausibleUsage }),
  }
}

const implausibleUsage =
  'The provider reported a usage that cannot be true, so this call is charged by an estimate.'
