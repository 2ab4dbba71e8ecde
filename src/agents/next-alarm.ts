import { scheduling } from '../shared/config'
import { isBusy, isSleeping, isStoppable, type LoopState } from './loop/state'

/**
 * Returns when an agent's single alarm must fire, in milliseconds since the epoch; null for never.
 * That is the end of the sleep if the agent only sleeps. Otherwise it is a watchdog interval ahead,
 * to resume the activation if this machine dies, or the activation's deadline, if that comes first.
 */
export function computeNextAlarm(state: LoopState, now: number): number | null {
  if (!isBusy(state) && !state.isWokenAgain) return null
  if (isSleeping(state)) {
    const ends = state.pending.flatMap((effect) => (effect.type === 'sleep' ? [effect.until] : []))
    return Math.max(now, Math.min(...ends))
  }
  const watchdog = now + scheduling.watchdogMs
  return isStoppable(state) ? Math.max(now, Math.min(watchdog, state.endsAt)) : watchdog
}
