import type { Clock } from '../shared/ids'
import type { LoopEvent } from './loop/event'

/**
 * Returns a `woken` event. It contains the ids of the records that may follow, so that a repeated
 * effect creates no duplicates.
 */
export function composeWake(clock: Clock, canExplore: boolean): LoopEvent {
  const at = clock.now()
  return {
    type: 'woken',
    at,
    activationId: clock.newId(at),
    replyId: clock.newId(at),
    reportId: clock.newId(at),
    ...(canExplore && { mayExplore: canExplore }),
  }
}
