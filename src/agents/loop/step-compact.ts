import { compaction } from '../../shared/config'
import { addCharge } from './charge-state'
import { isWindowNearlyFull } from './compaction'
import type { LoopEventOf } from './event'
import { startModelCall } from './start-model-call'
import type { LoopState, Step } from './state'

/**
 * Continues after a compaction. `reason` then checks the size: it compacts again, calls the model,
 * or gives up.
 */
export function handleCompacted(state: LoopState, event: LoopEventOf<'compacted'>): Step {
  const next: LoopState = {
    ...addCharge(state, event.charge),
    promptTokens: event.tokens,
    entries: event.entries,
    // nothing was left to replace, so further attempts are useless
    compactions: event.replaced === 0 ? compaction.attempts : state.compactions,
  }
  return startModelCall(
    { ...next, mustCompact: state.mustCompact && isWindowNearlyFull(next) },
    event.at,
  )
}
