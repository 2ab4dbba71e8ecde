import type { TraceTime } from '../contract/agents'
import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import { findStoppedEffects, isStopEvent } from '../run/stopped-effects'

type Part = Exclude<keyof TraceTime, 'totalMs' | 'lostMs'>

/**
 * Returns where the time of an activation went. The time since the previous event belongs to what
 * the event ends, so parallel calls count once and the parts add up to the total.
 *
 * @param until when the activation ended, or now
 */
export function computeTimeSpent(events: LoopEvent[], until: number): TraceTime {
  const spent = {
    loadingMs: 0,
    modelMs: 0,
    toolsMs: 0,
    hooksMs: 0,
    compactionMs: 0,
    parkedMs: 0,
    waitingMs: 0,
    otherMs: 0,
  }
  const begin = events[0]?.at ?? until
  let clock = begin
  const spend = (part: Part, to: number) => {
    const ms = Math.max(0, to - clock)
    spent[part] += ms
    clock += ms
    return ms
  }
  for (const [index, event] of events.entries()) {
    const around = spend('otherMs', 'startedAt' in event ? event.startedAt : clock)
    spend(isStopEvent(event) ? findStoppedPart(events, index) : findPart(event), event.at)
    moveHookTime(spent, event, around)
  }
  spend('otherMs', until)
  return { ...spent, totalMs: clock - begin }
}

const parts: Partial<Record<LoopEvent['type'], Part>> = {
  loaded: 'loadingMs',
  load_failed: 'loadingMs',
  load_waited: 'loadingMs',
  model_answered: 'modelMs',
  model_failed: 'modelMs',
  tool_returned: 'toolsMs',
  tool_parked: 'toolsMs',
  compacted: 'compactionMs',
  resumed: 'parkedMs',
  slept: 'waitingMs',
}

const partsOfEffects: Partial<Record<Effect['type'], Part>> = {
  load: 'loadingMs',
  call_model: 'modelMs',
  call_tool: 'toolsMs',
  compact: 'compactionMs',
  sleep: 'waitingMs',
}

/** Returns which part the time of a stopped effect belongs to. */
function findStoppedPart(events: LoopEvent[], index: number): Part {
  const [effect] = findStoppedEffects(events, index).pending
  return (effect && partsOfEffects[effect.type]) ?? 'otherMs'
}

const findPart = ({ type }: LoopEvent): Part => parts[type] ?? 'otherMs'

/** Moves the time of hooks from the part they ran in, so that no time counts twice. */
function moveHookTime(spent: Record<Part, number>, event: LoopEvent, around: number): void {
  if (!('hooks' in event) || !event.hooks) return
  const took = event.hooks.reduce((sum, { ms }) => sum + ms, 0)
  const before = Math.min(took, around)
  const within = Math.min(took - before, spent[findPart(event)])
  spent.otherMs -= before
  spent[findPart(event)] -= within
  spent.hooksMs += before + within
}
