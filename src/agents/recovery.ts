import { recovery } from '../shared/config'
import type { Clock } from '../shared/ids'
import type { LoopEvent } from './loop/event'
import type { LoopState } from './loop/state'

/**
 * How runs go on after their process has stopped in the middle of their work. One process serves a whole hub, so a run
 * whose input takes the process down must not do so at each start. And nobody can see which of the runs that were at
 * work did it.
 *
 * - At its first interruption nothing is stored of a run but its journal, so normal runs cost no write.
 * - Interrupted runs then go on one after the other. A run that goes on alone in its process, with the effects of all other
 *   runs held back, has its turn; this is on disk before the run goes on.
 * - A turn ends with progress, which is an effect that has an outcome in the journal, or after `computeTurnMs`. Only then
 *   do other runs go on.
 * - A run whose turn was interrupted is set aside: it ends as failed, by a commit without its texts.
 * - When the process stops in order, which a process that hangs cannot do, all turns end.
 * - A run that could not be alone goes on without a turn and is not suspected. The more often it was interrupted, the
 *   longer it waits to be alone and the longer its turn is, so that a run that takes the process down late has its turn too.
 *
 * So at the second interruption in a row, or some more when it works for long or beside others before it takes the process
 * down, a run is set aside; and no run is set aside for what another one did.
 */
export interface ResumeMark {
  activationId: string | null
  /** Ids of the pending effects: they change with progress, and only with it. */
  pending: number[]
  /** Interruptions in a row without progress. */
  starts: number
  /** It is this run's turn. */
  isAlone: boolean
}

/** Returns the mark of a run that goes on. */
export const toMark = (
  { activationId, pending }: LoopState,
  starts: number,
  isAlone: boolean,
): ResumeMark => ({ activationId, pending: pending.map(({ id }) => id), starts, isAlone })

/** Returns how often a run was interrupted in a row without progress, and whether it is set aside now. */
export function judgeInterruption(
  mark: ResumeMark | null,
  state: LoopState,
): { starts: number; isSetAside: boolean } {
  const isSame =
    mark?.activationId === state.activationId &&
    mark.pending.length === state.pending.length &&
    state.pending.every(({ id }, index) => id === mark.pending[index])
  if (!mark || !isSame) return { starts: 1, isSetAside: false }
  return { starts: mark.starts + 1, isSetAside: mark.isAlone }
}

/** Returns how long a run waits to be alone, and how long it may have its turn without progress, in milliseconds. */
export const computeTurnMs = (starts: number): number =>
  Math.min(recovery.turnMsMax, recovery.turnMs * recovery.turnFactor ** (starts - 1))

/** `alone`: the run has its turn. `together`: it goes on without one. */
export type Turn = 'alone' | 'together'

interface Waiting {
  since: number
  /** When it last asked: a run that no longer asks is gone. */
  askedAt: number
}

/** What a run has to know of the turns of its process. */
export type RecoveryTurns = Pick<
  RecoveryLane,
  'isHeldBack' | 'begin' | 'reset' | 'ask' | 'endTurn' | 'isStopping'
>

/** The turns of one process, in memory: a new process has nothing at work. Runs are named by their agents. */
export class RecoveryLane {
  readonly #clock: Clock
  /** Effects at work by agent. */
  readonly #working = new Map<string, { effects: number }>()
  /** Runs that wait for their turn, in order. */
  readonly #waiting = new Map<string, Waiting>()
  #holder: { agent: string; since: number; ms: number } | null = null
  #stopAnnouncedAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns whether the effects of an agent's run must wait: another run has its turn, or waits for it. */
  isHeldBack(agent: string): boolean {
    if (this.#holder === null && this.#waiting.size === 0) return false
    this.#dropGone()
    return this.#holder ? this.#holder.agent !== agent : this.#waiting.size > 0
  }

  /** Counts an effect as at work, until the returned function is called. */
  begin(agent: string): () => void {
    const entry = this.#working.get(agent) ?? { effects: 0 }
    this.#working.set(agent, entry)
    entry.effects++
    return () => {
      entry.effects--
      if (entry.effects === 0 && this.#working.get(agent) === entry) this.#working.delete(agent)
    }
  }

  /** Forgets an agent whose object has started anew. */
  reset(agent: string): void {
    this.#working.delete(agent)
    this.#waiting.delete(agent)
    this.endTurn(agent)
  }

  /** Asks for the turn of an interrupted run, again and again until it can go on; null: not yet. */
  ask(agent: string, starts: number): Turn | null {
    const now = this.#clock.now()
    const { since } = this.#waiting.get(agent) ?? { since: now }
    this.#waiting.set(agent, { since, askedAt: now })
    this.#dropGone()
    const isFirst = this.#waiting.keys().next().value === agent
    if (this.#holder !== null || !isFirst) return null
    const ms = computeTurnMs(starts)
    const isAlone = !this.isStopping && [...this.#working.keys()].every((each) => each === agent)
    if (!isAlone && isWithin(since, now, ms)) return null
    this.#waiting.delete(agent)
    if (!isAlone) return 'together'
    this.#holder = { agent, since: now, ms: ms + recovery.goneMs }
    return 'alone'
  }

  endTurn(agent: string): void {
    if (this.#holder?.agent === agent) this.#holder = null
  }

  /** Whether the process is about to stop in order. */
  get isStopping(): boolean {
    return isWithin(this.#stopAnnouncedAt, this.#clock.now(), recovery.goneMs)
  }

  /** Ends the turn there is, and gives none for a moment. Resolves when it has ended, or soon. */
  async announceStop(): Promise<void> {
    this.#stopAnnouncedAt = this.#clock.now()
    while (this.#holder !== null && this.isStopping) await scheduler.wait(recovery.askMs)
  }

  /** Drops runs whose objects are gone. */
  #dropGone(): void {
    const now = this.#clock.now()
    for (const [agent, { askedAt }] of this.#waiting) {
      if (!isWithin(askedAt, now, recovery.goneMs)) this.#waiting.delete(agent)
    }
    const { since, ms } = this.#holder ?? { since: 0, ms: 0 }
    if (!isWithin(since, now, ms)) this.#holder = null
  }
}

/** Returns whether less than so many milliseconds have passed; a time in the future was taken before the clock was set back. */
export const isWithin = (since: number, now: number, ms: number): boolean =>
  since <= now && now - since < ms

/**
 * Returns an event without the texts of people, models and tools, for a run that is set aside: one of them may be what
 * took the process down. What was charged, called and audited stays.
 */
export function removeTexts(event: LoopEvent): LoopEvent {
  switch (event.type) {
    case 'loaded': {
      const { session: _session, goal: _goal, words: _words, notes: _notes, ...facts } = event.facts
      return { ...event, facts: { ...facts, prompt: [], historyFrom: 0, layers: [] } }
    }
    case 'model_answered': {
      const { request: _request, answer, ...rest } = event
      const calls = answer.calls.map(removeArguments)
      const { providerParts: _parts, ...bare } = answer
      return { ...rest, answer: { ...bare, text: '', reasoning: '', calls } }
    }
    case 'model_failed': {
      const { request: _request, ...rest } = event
      return rest
    }
    case 'tool_returned':
      return { ...event, text: '', ...(event.arguments !== undefined && { arguments: '{}' }) }
    case 'program_called':
      return removeArguments(event)
    case 'program_call_returned':
      return { ...event, text: '' }
    case 'program_reported':
      return { ...event, reports: [] }
    case 'steered':
      return { ...event, items: event.items.map((item) => ({ ...item, text: '' })) }
    case 'compacted':
      return { ...event, summary: '' }
    case 'time_ran_out':
    case 'cancel_requested': {
      const { text: _text, ...rest } = event
      return rest
    }
    case 'tool_parked':
    case 'program_call_waits':
      return { ...event, approval: removeArguments(event.approval) }
    case 'resumed':
      return { ...event, decisions: event.decisions.map((each) => ({ ...each, note: '' })) }
    // No texts of people, models or tools. A new event is decided on here, or this does not compile.
    case 'woken':
    case 'load_waited':
    case 'load_found_nothing':
    case 'load_failed':
    case 'model_refused':
    case 'model_waited':
    case 'parked':
    case 'park_failed':
    case 'slept':
    case 'interrupted':
    case 'committed':
    case 'commit_failed':
    case 'program_placed':
    case 'request_admitted':
    case 'request_settled':
    case 'request_refused':
    case 'tools_listed':
    case 'program_call_decided':
    case 'approval_overdue':
    case 'program_lost':
    case 'program_closed':
    case 'nobody_notified':
      return event
  }
}

const removeArguments = <Call extends { arguments: string }>(call: Call): Call => ({
  ...call,
  arguments: '{}',
})
