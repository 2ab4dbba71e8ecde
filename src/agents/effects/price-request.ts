import type { ModelRequestResult } from '../contract/coding-agents'
import type { Charge } from '../loop/event'
import type { OpenRequest } from '../loop/program-state'
import type { Model } from '../models/model-port'
import { type PricedCall, toCountedCharge } from './price-call'

/** Returns a program's request for its price. The upper bound of its prompt is reserved. */
export const toPricedRequest = (
  model: PricedCall['model'],
  promptTokensMax: number,
  maxOutputTokens: number,
): PricedCall => ({
  model,
  request: { maxOutputTokens },
  promptTokens: promptTokensMax,
  promptTokensMax,
  wideBytes: 0,
  ratio: { mean: 1, high: 1 },
})

/**
 * Returns the charge of a request: what its provider counted. Without a count it is the worst case that was reserved,
 * since nobody knows how far the provider came; null when it bills nothing.
 *
 * @param model null when it is not known any more
 */
export function toRequestCharge(
  model: Pick<Model, 'id' | 'prices'> | null,
  { worst }: Pick<OpenRequest, 'worst'>,
  { usage, mayBeCharged }: Pick<ModelRequestResult, 'usage' | 'mayBeCharged'>,
  durationMs: number,
): Charge | null {
  if (usage === null && !mayBeCharged) return null
  // The prices that were reserved are those of the model at that time.
  if (usage === null || !model || model.id !== worst.model) return { ...worst, durationMs }
  return toCountedCharge(model, worst, usage, durationMs)
}
