import type { Clock } from '../ids'
import type { LoopEvent } from './loop/event'

/** A wake-up with the ids of what may come of it: chosen before, so that repeats are harmless (L36). */
export const composeWake = (clock: Clock, mayExplore: boolean): LoopEvent => ({
  type: 'woken',
  at: clock.now(),
  activationId: clock.newId(),
  replyId: clock.newId(),
  reportId: clock.newId(),
  ...(mayExplore && { mayExplore }),
})
