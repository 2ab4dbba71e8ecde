import type { Reservation } from '../../hub/contract'
import { countChars, toTokens } from '../loop/estimate'
import type { Charge } from '../loop/event'
import type { ModelAnswer, ModelUsage } from '../loop/message'
import { boundTokens } from '../models/bound-tokens'
import { costOf, worstCostOf } from '../models/catalogue'
import type { Model, ModelRequest } from '../models/model-port'
import { judgeUsage, limitUsage } from './judge-usage'

/** A call that is about to be made, and how long its prompt is. */
export interface CallPlan {
  request: ModelRequest
  promptTokens: number
  model: Model
}

/** The most its prompt can be: `promptTokens` is an estimate, which a budget must not rest on. */
const boundPrompt = ({ request }: CallPlan): number => boundTokens(request.messages, request.tools)

export function worstCase(plan: CallPlan, outputTokens: number): Reservation {
  const promptTokens = boundPrompt(plan)
  return {
    tokens: promptTokens + outputTokens,
    microusd: worstCostOf(plan.model.prices, promptTokens, outputTokens),
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
    inputTokens: boundPrompt(plan),
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
  const bounds = { input: boundPrompt(plan), output: plan.request.maxOutputTokens }
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
