import type { ModelRequestResult } from '../contract/coding-agents'
import type { Charge } from '../loop/event'
import type { OpenRequest } from '../loop/program-state'
import type { Model } from '../models/model-port'
import { type PricedCall, toPartialCharge } from './price-call'

/** Returns a program's request for its price. The upper bound of its prompt is reserved. */
export const toPricedRequest = (
  model: PricedCall['model'],
  { promptTokens, promptTokensMax }: { promptTokens: number; promptTokensMax: number },
  maxOutputTokens: number,
): PricedCall => ({
  model,
  request: { maxOutputTokens },
  promptTokens: promptTokensMax,
  promptTokensMax,
  wideBytes: 0,
  ratio: { mean: Math.min(1, promptTokens / Math.max(1, promptTokensMax)), high: 1 },
})

/**
 * Returns the charge of a request: its usage, else an estimate of its prompt and of what was passed on. Null when the
 * provider bills nothing.
 *
 * @param model null when it is not known any more: the worst case is charged
 */
export function toRequestCharge(
  model: Pick<Model, 'id' | 'prices'> | null,
  { worst, promptTokens }: OpenRequest,
  { usage, mayBeCharged, answerChars }: ModelRequestResult,
  durationMs: number,
): Charge | null {
  if (usage === null && !mayBeCharged) return null
  if (!model) return { ...worst, durationMs }
  const size = { promptTokens, promptTokensMax: worst.inputTokens }
  const call = toPricedRequest(model, size, worst.outputTokens)
  return toPartialCharge(call, { chars: answerChars, ...(usage && { usage }) }, durationMs)
}
