import type { ModelRequestResult } from '../contract/coding-agents'
import type { Charge } from '../loop/event'
import type { Model } from '../models/model-port'
import { type PricedCall, toPartialCharge } from './price-call'

/** English needs a third of the bound of a prompt, and requests are mostly that. */
const usualShare = 1 / 3

/** Returns a program's request for its price. Of its prompt only an upper bound is known, which is reserved. */
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
  ratio: { mean: usualShare, high: 1 },
})

/**
 * Returns the charge of a request: its usage, else an estimate of its prompt and of what was passed on. Null when the
 * provider processed nothing.
 *
 * @param model null when it is not known any more: the worst case is charged
 */
export function toRequestCharge(
  model: Pick<Model, 'id' | 'prices'> | null,
  worst: Charge,
  { status, finish, usage, answerChars }: ModelRequestResult,
  durationMs: number,
): Charge | null {
  const isRefused = status === null ? finish === 'error' : status >= 400
  if (usage === null && answerChars === 0 && isRefused) return null
  if (!model) return { ...worst, durationMs }
  const call = toPricedRequest(model, worst.inputTokens, worst.outputTokens)
  return toPartialCharge(call, { chars: answerChars, ...(usage && { usage }) }, durationMs)
}
