import type { Clock } from '../shared/ids'
import type { LoopEvent } from './loop/event'

/** What a wake-up says; each may be lost. */
export interface WakeHint {
  /** The scheduler offers an exploration. */
  canExplore?: boolean | undefined
  /** A comment arrived in the thread where the agent works. */
  maySteer?: boolean | undefined
}

/**
 * Returns a `woken` event. It contains the ids of the records that may follow, so that a repeated
 * effect creates no duplicates.
 */
export function composeWake(clock: Clock, { canExplore, maySteer }: WakeHint = {}): LoopEvent {
  const at = clock.now()
  return {
    type: 'woken',
    at,
    activationId: clock.newId(at),
    replyId: clock.newId(at),
    reportId: clock.newId(at),
    ...(canExplore && { mayExplore: canExplore }),
    ...(maySteer && { maySteer }),
  }
}
