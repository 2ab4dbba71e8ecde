import type { Clock } from '../ids'
import type { LoopEvent } from './loop/event'

/** A wake-up with the ids of what may come of it: chosen before, so that repeats are harmless (L36). */
export function composeWake(clock: Clock, mayExplore: boolean): LoopEvent {
  const at = clock.now()
  return {
    type: 'woken',
    at,
    activationId: clock.newId(at),
    replyId: clock.newId(at),
    reportId: clock.newId(at),
    ...(mayExplore && { mayExplore }),
  }
}
