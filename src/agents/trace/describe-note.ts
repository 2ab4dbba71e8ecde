import type { Charge, LoopEvent } from '../loop/event'

/**
 * What a provider said about a call that it did not answer. It may quote the prompt, so it is for who
 * may see inside (L35, M9).
 */
export const readQuote = (event: LoopEvent): string | null =>
  event.type === 'model_failed' ? event.failure.detail || null : null

/** What did not go as planned, in words; null for an event that is no trouble. */
export function describeNote(event: LoopEvent): string | null {
  switch (event.type) {
    case 'load_waited':
      return `Waited to start: ${event.reason.replaceAll('_', ' ')}.`
    case 'load_failed':
      return `Could not read the hub: ${event.message}`
    case 'model_failed':
      return `The model call failed (${event.failure.code}): ${event.failure.message}${sayCharge(event.charge)}`
    case 'model_refused':
      return `No further model call: ${event.reason.replaceAll('_', ' ')}.`
    case 'model_waited':
      return 'Waited: the money left was reserved by agents at work.'
    case 'interrupted':
      return `The machine stopped; the work was taken up again from the journal.${sayCharge(event.charge)}`
    case 'time_ran_out':
      return `The wall clock limit passed.${sayCharge(event.charge)}`
    case 'cancel_requested':
      return `Somebody asked it to stop.${sayCharge(event.charge)}`
    case 'model_answered':
      return [event.warning, event.charge.doubt].filter(Boolean).join(' ') || null
    case 'compacted':
      return event.charge?.doubt ?? null
    case 'park_failed':
      return 'The calls that wait for a person did not reach the hub, and were sent again.'
    case 'commit_failed':
      return 'The commit did not reach the hub and was repeated.'
    default:
      return null
  }
}

/** A call without an answer is in no step, so what it was charged is told here (B1, L36). */
function sayCharge(charge: Charge | null): string {
  if (!charge) return ''
  const { inputTokens, outputTokens, microusd, isPriced } = charge
  const money = isPriced ? `$${(microusd / 1_000_000).toFixed(6)}` : 'without a price'
  return ` A call without an answer was charged ${inputTokens} tokens in and ${outputTokens} out, ${money}.`
}
