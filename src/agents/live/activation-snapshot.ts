import type { ActivationId } from '../../shared/ids'
import type { LoopEvent } from '../loop/event'
import type { Ending } from '../loop/state'

/** State of one activation in the agent's object, for watchers. */
export interface ActivationSnapshot {
  /** Null when the activation is unknown. */
  activationId: ActivationId | null
  events: LoopEvent[]
  ending: Ending | null
  doing: string | null
  /** The activation has committed. */
  isCommitted: boolean
}

/** Returns the id of the journal's activation. */
export const findActivation = (events: LoopEvent[]): ActivationId | null =>
  events.find((event) => event.type === 'woken')?.activationId ?? null

/** Returns a parked activation for watchers; one without id and events when it doesn't exist. */
export function toParkedSnapshot(
  activationId: ActivationId | null,
  parked: { events: LoopEvent[] } | null,
): ActivationSnapshot {
  const rest = { ending: null, doing: null, isCommitted: false }
  return parked
    ? { ...rest, activationId, events: parked.events }
    : { ...rest, activationId: null, events: [] }
}
