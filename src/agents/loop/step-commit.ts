import { activationLimits } from '../../shared/config'
import type { LoopEventOf } from './event'
import { initialState, type LoopState, type Step, withEffects, withoutEffects } from './state'

/**
 * Returns to idle after the commit. When the inbox has more, the shell wakes the loop again with a
 * new activation id. The same happens when LOAD was given up and had claimed nothing: the hub may
 * have answered with parked work, which would otherwise never resume.
 */
export function handleCommitted(state: LoopState, event: LoopEventOf<'committed'>): Step {
  const wasGivenUp = state.task === null && state.ending?.error?.code === 'INTERRUPTED'
  const mayHaveResumed = wasGivenUp && event.kind === 'lost'
  return withoutEffects({
    ...initialState,
    nextEffectId: state.nextEffectId,
    isWokenAgain: state.isWokenAgain || event.hasMore || mayHaveResumed,
  })
}

/** Retries a commit or park request with exponential backoff, without a limit on attempts. */
export function retryWithBackoff(
  state: LoopState,
  event: LoopEventOf<'commit_failed' | 'park_failed'>,
): Step {
  const { retryBaseMs, retryCapMs } = activationLimits
  const wait = Math.min(retryCapMs, retryBaseMs * 2 ** Math.min(state.commitFailures, 8))
  return withEffects(
    { ...state, commitFailures: state.commitFailures + 1 },
    { type: 'sleep', until: event.at + Math.round(wait * (0.5 + event.jitter / 2)) },
  )
}
