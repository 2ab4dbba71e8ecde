import type { TraceSpend } from '../contract/runs'
import type { Charge } from '../loop/event'
import type { RunEvent } from './run-event'

/** A model call with its cost. */
interface ChargedCall {
  at: number
  charge: Charge
}

/** Returns every model call that has a cost, also calls without an answer. */
export const listCharges = (events: RunEvent[]): ChargedCall[] =>
  events.flatMap((event) =>
    'charge' in event && event.charge ? [{ at: event.at, charge: event.charge }] : [],
  )

/** Returns the sum of all charges of a run. */
export function sumSpend(events: RunEvent[]): TraceSpend {
  const sum = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, costMicrousd: 0, isPriced: true }
  for (const { charge } of listCharges(events)) {
    sum.inputTokens += charge.inputTokens
    sum.cachedTokens += charge.cachedTokens
    sum.outputTokens += charge.outputTokens
    sum.costMicrousd += charge.microusd
    if (!charge.isPriced) sum.isPriced = false
  }
  return sum
}

/** Returns the charges of events as one. */
export function sumCharges(events: RunEvent[]): Charge {
  const { costMicrousd: microusd, ...sum } = sumSpend(events)
  return { ...sum, microusd, reasoningTokens: 0, isEstimated: false, durationMs: 0 }
}
