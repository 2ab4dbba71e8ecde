import { compaction } from '../../shared/config'
import { addCharge } from './charge-state'
import { isWindowNearlyFull } from './compaction'
import { endingTexts } from './ending-texts'
import type { LoopEventOf } from './event'
import { startModelCall } from './start-model-call'
import type { LoopState, Step } from './state'
import { finishActivation } from './step-end'

/**
 * Continues after a compaction. `reason` then checks the size: it compacts again, calls the model,
 * or gives up. When nothing else was asked, the run ends.
 */
export function handleCompacted(state: LoopState, event: LoopEventOf<'compacted'>): Step {
  const next: LoopState = {
    ...addCharge(state, event.charge),
    promptTokens: event.tokens,
    entries: event.entries,
    // nothing was left to replace, so further attempts are useless
    compactions: event.replaced === 0 ? compaction.attempts : state.compactions,
  }
  if (state.isCompactOnly) {
    const text = endingTexts.compacted(event.replaced, event.problem)
    return finishActivation(next, { outcome: 'completed', error: null, reply: 'notice', text })
  }
  return startModelCall(
    { ...next, mustCompact: state.mustCompact && isWindowNearlyFull(next) },
    event.at,
  )
}
