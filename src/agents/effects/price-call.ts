import type { Reservation } from '../../hub/contract/hub'
import type { PromptSize } from '../contract/agents'
import type { Charge } from '../loop/event'
import {
  countChars,
  estimateTokensOfChars,
  type Message,
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

/** The size of a prompt, and the texts it consists of. */
interface MeasuredPrompt {
  input: PromptSize
  parts: string[]
}

/**
 * Measures a prompt for the trace.
 *
 * @param before the parts of the previous prompt, if this machine made it
 * @param tokens estimated size, tools included
 */
export function measurePrompt(
  { images: sent, ...prompt }: Prompt & Pick<ModelRequest, 'images'>,
  tokens: number,
  before: string[] | null,
): MeasuredPrompt {
  const parts = listParts(prompt)
  const images = sent?.size ?? 0
  const input = {
    messages: prompt.messages.length,
    chars: countPartChars(parts),
    tokens,
    prefixShare: before && measurePrefix(before, parts),
    ...(images > 0 && { images }),
  }
  return { input, parts }
}

/** Returns the share of `before` that `after` starts with, character by character: 0 to 1. */
function measurePrefix(before: string[], after: string[]): number {
  const size = countPartChars(before)
  if (size === 0) return 1
  let same = 0
  for (const [index, part] of before.entries()) {
    const other = after[index] ?? ''
    if (part !== other) {
      same += countCommonPrefix(part, other)
      break
    }
    same += part.length
  }
  return Math.floor((same / size) * 10_000) / 10_000
}

function countCommonPrefix(one: string, other: string): number {
  const most = Math.min(one.length, other.length)
  let same = 0
  while (same < most && one[same] === other[same]) same++
  return same
}

function countPartChars(parts: string[]): number {
  let chars = 0
  for (const part of parts) chars += part.length
  return chars
}

/**
 * Returns everything that is sent to a provider, in order; roles and names are part of the text.
 */
function listParts({ messages, tools }: Prompt): string[] {
  const parts = tools.map(describeTool)
  for (const message of messages) {
    parts.push(message.role)
    if (message.role === 'tool') {
      for (const { callId, name, text } of message.results) parts.push(callId, name, text)
    } else {
      parts.push(message.text)
      if (message.role === 'assistant') addCalls(parts, message)
    }
  }
  return parts
}

function addCalls(parts: string[], message: Extract<Message, { role: 'assistant' }>): void {
  for (const { callId, name, arguments: args } of message.calls) parts.push(callId, name, args)
  if (message.providerParts) parts.push(message.providerParts)
}

/** Cache of tool descriptions: serializing their schemas for every step would be slow. */
const described = new WeakMap<object, string>()

/** Cache of the hashes of tools. */
const hashed = new WeakMap<object, { name: string; description: string; hash: number }>()

/** Returns a hash of names, descriptions and schemas of tools: another one means that a tool has changed. */
export function hashTools(tools: Prompt['tools']): string {
  let hash = fnvOffset
  for (const tool of tools) hash = mix(hash, hashTool(tool))
  return hash.toString(36)
}

function hashTool(tool: Prompt['tools'][number]): number {
  const { name, description, inputSchema } = tool
  const known = hashed.get(inputSchema)
  if (known?.name === name && known.description === description) return known.hash
  let hash = fnvOffset
  const text = describeTool(tool)
  for (let at = 0; at < text.length; at++) hash = mix(hash, text.charCodeAt(at))
  hashed.set(inputSchema, { name, description, hash })
  return hash
}

/** FNV-1a, over units of any size. */
const fnvOffset = 0x811c9dc5
const mix = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193) >>> 0

function describeTool({ name, description, inputSchema }: Prompt['tools'][number]): string {
  let schema = described.get(inputSchema)
  if (schema === undefined) {
    schema = JSON.stringify(inputSchema)
    described.set(inputSchema, schema)
  }
  return `${name}\n${description}\n${schema}`
}
