import type { Reservation } from '../../hub/contract/hub'
import type { Charge } from '../loop/event'
import {
  countChars,
  estimateTokensOfChars,
  type ModelAnswer,
  type ModelFailure,
  type ModelUsage,
  type ReceivedAnswer,
} from '../loop/message'
import { calculateCost, calculateCostMax, calculateOutputMax } from '../models/catalogue'
import {
  countTokensMax,
  countWideBytes,
  estimateTokens,
  type TokenRatio,
  unknownRatio,
} from '../models/estimate-tokens'
import type { Model, ModelRequest } from '../models/model-port'

/** A model call as far as its price is concerned. */
export interface PricedCall extends PromptTokens {
  request: Pick<ModelRequest, 'maxOutputTokens'>
  model: Pick<Model, 'id' | 'prices'>
  /** What this model counts for an estimated token; absent before it has counted any. */
  ratio?: TokenRatio
}

/** A model call before it is sent, with the size of its whole prompt. */
export interface CallPlan extends PricedCall {
  request: ModelRequest
  model: Model
}

/** The size of a prompt, in tokens. */
export interface PromptTokens {
  /** Estimated. */
  promptTokens: number
  /** Upper bound for any tokenizer. */
  promptTokensMax: number
  /** Bytes beyond one per character. */
  wideBytes: number
}

/** Measures a prompt. Call it once per prompt: the result is used several times. */
export const measurePromptSize = ({ messages, tools }: Prompt): PromptTokens => ({
  promptTokens: estimateTokens(messages, tools),
  promptTokensMax: countTokensMax(messages, tools),
  wideBytes: countWideBytes(messages, tools),
})

/** Adds the sizes of two parts of a prompt; the estimate of each is rounded up. */
export const addPromptSizes = (one: PromptTokens, other: PromptTokens): PromptTokens => ({
  promptTokens: one.promptTokens + other.promptTokens,
  promptTokensMax: one.promptTokensMax + other.promptTokensMax,
  wideBytes: one.wideBytes + other.wideBytes,
})

/** Returns the estimate that ratios refer to: of characters, with wide ones as a token each. */
export const estimateWideTokens = ({ promptTokens, wideBytes }: PromptTokens): number =>
  promptTokens + Math.ceil(wideBytes / 2)

/** Tokens added to the upper bound of every prompt, which matter for short ones only. */
const boundSlack = 64

/**
 * Returns the most tokens that a prompt is expected to have: its estimate, corrected by what the
 * provider has counted before. Budgets reserve this many.
 */
export const boundPromptTokens = (size: PromptTokens & Pick<PricedCall, 'ratio'>): number =>
  Math.min(
    size.promptTokensMax,
    Math.ceil(estimateWideTokens(size) * (size.ratio ?? unknownRatio).high) + boundSlack,
  )

/** Returns the estimated size of a prompt, corrected by what the provider has counted before. */
const correctPromptTokens = (plan: PricedCall): number =>
  Math.min(
    boundPromptTokens(plan),
    Math.ceil(estimateWideTokens(plan) * (plan.ratio ?? unknownRatio).mean),
  )

/** Returns the most that a call can take with an answer of so many tokens. */
export function worstCaseReservation(plan: PricedCall, outputTokens: number): Reservation {
  const promptTokens = boundPromptTokens(plan)
  return {
    tokens: promptTokens + outputTokens,
    microusd: calculateCostMax(plan.model.prices, promptTokens, outputTokens),
  }
}

/** Returns the most tokens that the answer may have within the reservation. */
export function affordableOutputTokens(plan: PricedCall, reservation: Reservation): number {
  const promptTokens = boundPromptTokens(plan)
  const byMoney = calculateOutputMax(plan.model.prices, promptTokens, reservation.microusd)
  const byTokens = reservation.tokens - promptTokens
  return Math.max(0, Math.min(plan.request.maxOutputTokens, byTokens, byMoney))
}

/** Returns the charge of a call whose answer is lost. */
export function worstCaseCharge(plan: PricedCall): Charge {
  const { maxOutputTokens } = plan.request
  return {
    inputTokens: boundPromptTokens(plan),
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

/** Returns the charge of a failed call; null when the provider served nothing of it. */
export function toFailureCharge(
  plan: CallPlan,
  { mayBeCharged, received }: ModelFailure,
  durationMs: number,
): Charge | null {
  return mayBeCharged ? toPartialCharge(plan, received ?? { chars: 0 }, durationMs) : null
}

/**
 * Returns the charge of a call that ended before its answer was complete: the prompt and what had
 * arrived, as the provider reported it or else estimated.
 */
export function toPartialCharge(
  plan: PricedCall,
  { chars, usage: reported }: ReceivedAnswer,
  durationMs: number,
): Charge {
  if (reported) return toCountedCharge(plan.model, worstCaseCharge(plan), reported, durationMs)
  const estimate = {
    inputTokens: correctPromptTokens(plan),
    cachedTokens: 0,
    outputTokens: estimateTokensOfChars(chars),
    reasoningTokens: 0,
  }
  return toEstimatedCharge(plan, estimate, durationMs)
}

/**
 * Returns the charge of what a provider counted: all of it, and what was not reserved as an overrun. A usage that
 * cannot be true is replaced by the worst case, with a note.
 *
 * @param worst what was reserved for the call
 */
export function toCountedCharge(
  { id, prices }: PricedCall['model'],
  worst: Charge,
  reported: ModelUsage,
  durationMs: number,
): Charge {
  const usage = validateUsage(reported)
  if (usage === null) return { ...worst, durationMs, doubt: implausibleUsage }
  const microusd = calculateCost(prices, usage)
  const tokens = usage.inputTokens + usage.outputTokens - worst.inputTokens - worst.outputTokens
  const excess = { tokens: Math.max(0, tokens), microusd: Math.max(0, microusd - worst.microusd) }
  return {
    ...usage,
    ...((excess.tokens > 0 || excess.microusd > 0) && { overrun: excess }),
    microusd,
    isPriced: prices !== null,
    isEstimated: false,
    durationMs,
    model: id,
  }
}

/** Returns the charge of an estimate, which is at most what the call could have used. */
function toEstimatedCharge(plan: PricedCall, estimate: ModelUsage, durationMs: number): Charge {
  const { id, prices } = plan.model
  const bounds = { input: plan.promptTokensMax, output: plan.request.maxOutputTokens }
  const usage = clampUsage(estimate, bounds)
  return {
    ...usage,
    microusd: calculateCost(prices, usage),
    isPriced: prices !== null,
    isEstimated: true,
    durationMs,
    model: id,
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
    inputTokens: correctPromptTokens(plan),
    cachedTokens: 0,
    // a provider neither returns nor bills more than the limit
    outputTokens: Math.min(
      plan.request.maxOutputTokens,
      estimateTokensOfChars(answerChars + reasoning.length),
    ),
    reasoningTokens: estimateTokensOfChars(reasoning.length),
  }
}

/** Returns the charge of an answer: what the provider counted, or an estimate when it has not. */
export function toCharge(plan: CallPlan, answer: ModelAnswer, durationMs: number): Charge {
  return answer.usage
    ? toCountedCharge(plan.model, worstCaseCharge(plan), answer.usage, durationMs)
    : toEstimatedCharge(plan, estimateUsage(plan, answer), durationMs)
}

const implausibleUsage =
  'The provider reported a usage that cannot be true, so this call is charged its worst case.'

/** More tokens than any model reads or writes in one call: a greater count is no count. */
const tokensMax = 1_000_000_000

/**
 * Returns the usage that a provider reported, in whole tokens: all of it, also when it is more than was reserved. Null
 * when it cannot be a count: negative, not a number, or without an end. The budgets of the hub depend on it.
 */
function validateUsage(reported: ModelUsage): ModelUsage | null {
  const counts = [
    reported.inputTokens,
    reported.cachedTokens,
    reported.cacheWriteTokens ?? 0,
    reported.outputTokens,
    reported.reasoningTokens,
  ]
  const isCount = counts.every((count) => count >= 0 && count <= tokensMax)
  return isCount ? clampUsage(reported, { input: tokensMax, output: tokensMax }) : null
}

/** Rounds usage up to whole tokens within the bounds; a part is never more than its total. */
function clampUsage(usage: ModelUsage, bounds: { input: number; output: number }): ModelUsage {
  const inputTokens = Math.min(bounds.input, Math.ceil(usage.inputTokens))
  const outputTokens = Math.min(bounds.output, Math.ceil(usage.outputTokens))
  const cachedTokens = Math.min(inputTokens, Math.ceil(usage.cachedTokens))
  const cacheWriteTokens = Math.min(
    inputTokens - cachedTokens,
    Math.ceil(usage.cacheWriteTokens ?? 0),
  )
  return {
    inputTokens,
    cachedTokens,
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    outputTokens,
    reasoningTokens: Math.min(outputTokens, Math.ceil(usage.reasoningTokens)),
  }
}

/** The prompt of a model call, in the order a provider reads it: tools, then messages. */
export type Prompt = Pick<ModelRequest, 'messages' | 'tools'>
