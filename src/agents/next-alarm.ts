import { scheduling } from '../config'
import { isAsleep, isBusy, isWorking, type LoopState } from './loop/state'

/**
 * When an agent's single alarm must fire, or null for never: at the end of a sleep if that is all
 * there is; else a watchdog's time ahead, to resume the work if this machine dies, or when the wall
 * clock limit passes, if that comes first.
 */
export function computeNextAlarm(state: LoopState, now: number): number | null {
  if (!isBusy(state) && !state.isWokenAgain) return null
  if (isAsleep(state)) {
    const ends = state.pending.flatMap((effect) => (effect.type === 'sleep' ? [effect.until] : []))
    return Math.max(now, Math.min(...ends))
  }
  const watchdog = now + scheduling.watchdogMs
  return isWorking(state) ? Math.max(now, Math.min(watchdog, state.endsAt)) : watchdog
}
