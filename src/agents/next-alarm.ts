import { boundWait } from '../shared/bounded-wait'
import { activationLimits, codingAgents, scheduling } from '../shared/config'
import { findWorking } from './loop/admit-request'
import type { ProgramState } from './loop/program-state'
import { findWaitEnd } from './loop/program-waits'
import { isBusy, isSleeping, isStoppable, type LoopState } from './loop/state'

/**
 * Returns when an agent's single alarm must fire, in milliseconds since the epoch; null for never.
 * That is the end of the sleep if the agent only sleeps. Otherwise it is a watchdog interval ahead,
 * to resume the activation if this machine dies, or the activation's deadline, if that comes first. While a program
 * works elsewhere, nothing runs here: the agent only asks after it now and then.
 */
export function computeNextAlarm(state: LoopState, now: number): number | null {
  if (!isBusy(state) && !state.isWokenAgain) return null
  if (isSleeping(state)) {
    const ends = state.pending.flatMap((effect) => (effect.type === 'sleep' ? [effect.until] : []))
    return Math.max(now, Math.min(...ends))
  }
  const program = findWorking(state)
  const check = program ? findCheck(program, now) : now + scheduling.watchdogMs
  const watchdog = Math.min(check, (program && findWaitEnd(program)) ?? check)
  return isStoppable(state) ? Math.max(now, Math.min(watchdog, state.endsAt)) : watchdog
}

/**
 * Returns the state with every stored time that lies further ahead than its rule allows brought back: the clock was set
 * back since it was stored. A sleep ends within the longest wait of any, and the time limit counts anew.
 */
export function boundTimes(state: LoopState, now: number): LoopState {
  const pending = state.pending.map((effect) =>
    effect.type === 'sleep'
      ? { ...effect, until: boundWait(effect.until, now, sleepMsMax) }
      : effect,
  )
  const endsAt = isStoppable(state)
    ? boundWait(state.endsAt, now, state.limits.durationMs)
    : state.endsAt
  return { ...state, pending, endsAt, startedAt: boundWait(state.startedAt, now, 0) }
}

/** No step sleeps longer: for room, for a model that asks for it, or for the hub. */
const sleepMsMax = Math.max(activationLimits.retryCapMs, scheduling.capacityRetryMsMax)

/** Returns when to ask after the run of a program. */
function findCheck({ place, hasStarted, isNotified, askedAt }: ProgramState, now: number): number {
  const isPlaced = hasStarted || (place !== 'asked' && place !== 'unreachable')
  if (!isPlaced) return now + scheduling.watchdogMs
  const check = now + codingAgents.checkMs
  const mustNotify = place === 'nobody' && !hasStarted && !isNotified
  return mustNotify ? Math.max(now, Math.min(check, askedAt + codingAgents.nobodyThereMs)) : check
}

/** Whether the time limit of the activation ends it now. */
export const hasTimedOut = (state: LoopState, now: number): boolean =>
  isStoppable(state) && now >= state.endsAt

/** Returns how long a platform event stays with the activation: until its deadline, or the longest for one event. */
export function computeAwakeMs(state: LoopState, now: number): number {
  const left = isStoppable(state) ? state.endsAt - now : scheduling.eventMs
  return Math.max(0, Math.min(left, scheduling.eventMs))
}
