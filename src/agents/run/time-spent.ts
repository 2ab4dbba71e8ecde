import type { TraceTime } from '../contract/agents'
import type { Effect } from '../loop/effect'
import type { RunEvent, RunEventOf } from './run-event'

type Part = Exclude<keyof TraceTime, 'totalMs'>

const parts: Partial<Record<RunEvent['type'], Part>> = {
  loaded: 'loadingMs',
  load_failed: 'loadingMs',
  load_waited: 'loadingMs',
  model_answered: 'modelMs',
  model_failed: 'lostMs',
  tool_returned: 'toolsMs',
  tool_parked: 'toolsMs',
  compacted: 'compactionMs',
  resumed: 'parkedMs',
  program_call_decided: 'parkedMs',
  approval_overdue: 'parkedMs',
  slept: 'waitingMs',
}

const partsOfEffects: Partial<Record<Effect['type'], Part>> = {
  load: 'loadingMs',
  call_model: 'lostMs',
  call_tool: 'toolsMs',
  compact: 'compactionMs',
  sleep: 'waitingMs',
}

/**
 * Measures where the time of a run went, event by event. The time since the previous event belongs
 * to what the event ends, so parallel calls count once and the parts add up to the total.
 */
export class TimeFold {
  readonly #spent: Record<Part, number> = {
    loadingMs: 0,
    modelMs: 0,
    lostMs: 0,
    toolsMs: 0,
    hooksMs: 0,
    compactionMs: 0,
    parkedMs: 0,
    waitingMs: 0,
    otherMs: 0,
  }
  #begin: number | null = null
  #clock = 0
  /** Time of hooks after an answer that the next event has to give up. */
  #hooksAfterMs = 0

  /** Adds an event; returns the milliseconds of what it ends. */
  add(event: RunEvent): number {
    if (this.#begin === null) {
      this.#begin = event.at
      this.#clock = event.at
    }
    // a task that arrives meanwhile ends nothing, and neither does the summary of the outcome
    if (event.type === 'woken' || event.type === 'ended') return 0
    const around = this.#spend('otherMs', 'startedAt' in event ? event.startedAt : this.#clock)
    const part = findPart(event)
    const spent = this.#spend(part, event.at)
    if (event.type === 'model_answered') this.#moveHooksOfModel(event, around)
    else this.#moveHooksOfTool(event, part, around, spent)
    return spent
  }

  /** @param until when the run ended, or now */
  finish(until: number): TraceTime {
    this.#begin ??= until
    if (this.#begin === until) this.#clock = until
    this.#moveHooks('otherMs', this.#hooksAfterMs, this.#spend('otherMs', until))
    return { ...this.#spent, totalMs: this.#clock - this.#begin }
  }

  #spend(part: Part, to: number): number {
    const ms = Math.max(0, to - this.#clock)
    this.#spent[part] += ms
    this.#clock += ms
    return ms
  }

  /** Hooks around a model call run before it starts and after it ends. */
  #moveHooksOfModel({ hooks }: RunEventOf<'model_answered'>, around: number): void {
    const after = sum(hooks.filter(({ point }) => point === 'afterModelCall'))
    const before = this.#hooksAfterMs + sum(hooks) - after
    this.#hooksAfterMs = after
    this.#moveHooks('otherMs', before, around)
  }

  /** Hooks around a tool call run while the call does. */
  #moveHooksOfTool(event: RunEvent, part: Part, around: number, spent: number): void {
    const gap = part === 'otherMs' ? around + spent : around
    this.#moveHooks('otherMs', this.#hooksAfterMs, gap)
    this.#hooksAfterMs = 0
    if ('hooks' in event) this.#moveHooks(part, sum(event.hooks), spent)
  }

  /** Moves time to the hooks, at most `available`. */
  #moveHooks(part: Part, ms: number, available: number): void {
    const moved = Math.min(ms, available)
    this.#spent[part] -= moved
    this.#spent.hooksMs += moved
  }
}

const sum = (hooks: readonly { ms: number }[]): number => hooks.reduce((all, { ms }) => all + ms, 0)

function findPart(event: RunEvent): Part {
  if (event.type !== 'time_ran_out' && event.type !== 'cancel_requested') {
    return parts[event.type] ?? 'otherMs'
  }
  return (event.stopped && partsOfEffects[event.stopped]) ?? 'otherMs'
}
