import type { ActivationId } from '../../ids'
import type { LoopEvent } from '../loop/event'
import type { Ending } from '../loop/state'

/** What an agent knows of one of its activations, for those who watch. */
export interface Work {
  /** Null: nothing is known. */
  activationId: ActivationId | null
  events: LoopEvent[]
  ending: Ending | null
  doing: string | null
  /** Its commit is through. */
  isOver: boolean
}

/** Whose journal this is. */
export const findActivation = (events: LoopEvent[]): ActivationId | null =>
  events.find((event) => event.type === 'woken')?.activationId ?? null

/** One that was set aside until people have decided; unknown when there is none. */
export function toParkedWork(
  activationId: ActivationId | null,
  kept: { events: LoopEvent[] } | null,
): Work {
  const rest = { ending: null, doing: null, isOver: false }
  return kept
    ? { ...rest, activationId, events: kept.events }
    : { ...rest, activationId: null, events: [] }
}
