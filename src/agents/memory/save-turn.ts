import type { LoopEvent } from '../loop/event'
import type { LoopState } from '../loop/state'
import { composeTurn } from './compose-turn'
import type { MemoryStore } from './memory-store'

/** Saves a finished activation as a turn of its session, once, in the transaction that ends it. */
export function saveTurn(
  memory: MemoryStore,
  { state, events, at }: { state: LoopState; events: LoopEvent[]; at: number },
): void {
  const { activationId, ending } = state
  if (!activationId || !ending) return
  const turn = composeTurn({ activationId, at, events, ending, window: state })
  if (turn) memory.saveActivation(turn)
}
