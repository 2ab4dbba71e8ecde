import type { LoopEvent } from '../../../src/agents/loop/event'
import { type Effect, initialState, type LoopState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import { outcome, steeredOutcome } from './outcomes'
import { charge, resumed, woken } from './scenario'

export interface Run {
  state: LoopState
  events: LoopEvent[]
  commits: number
}

/** One decision of a run: the state before, the event, and what followed. */
export interface Decided {
  before: LoopState
  event: LoopEvent
  after: LoopState
  effects: Effect[]
}

/** Returns the decisions of a journal, from the first. */
export function* decisionsOf(events: LoopEvent[]): Generator<Decided> {
  let before = initialState
  for (const event of events) {
    const { state: after, effects } = step(before, event)
    yield { before, event, after, effects }
    before = after
  }
}

/** Returns disturbances: a crash, an old event again, a stop, the time limit; and hints that a comment joins. */
function disturb(
  run: Run,
  past: LoopEvent[],
  choice: number,
  at: number,
  { isDisturbed, isSteered }: { isDisturbed: boolean; isSteered: boolean },
): LoopEvent[] {
  const old = past[choice % Math.max(1, past.length)]
  const hints = isSteered && choice % 3 === 0 ? [{ ...woken(at), maySteer: true } as LoopEvent] : []
  if (!isDisturbed) return hints
  return [
    ...hints,
    ...(choice % 19 === 0
      ? [{ type: 'interrupted', at, unknownCallIds: unknown(run.state), charge: null } as const]
      : []),
    ...(choice % 23 === 0 && old ? [old] : []),
    ...(choice % 29 === 0 ? [woken(at)] : []),
    ...(choice % 89 === 0 ? [{ type: 'cancel_requested', at, charge: charge() } as const] : []),
    ...(choice % 97 === 0 ? [{ type: 'time_ran_out', at, charge: null } as const] : []),
  ]
}

/**
 * Drives the loop to its end with arbitrary outcomes, disturbances, and late, duplicate and missing
 * events.
 */
export const drive = (choices: number[], isDisturbed: boolean): Run =>
  driveLoop(choices, isDisturbed, false)

/** The same, while people write comments that join the run. */
export const driveSteered = (choices: number[], isDisturbed: boolean): Run =>
  driveLoop(choices, isDisturbed, true)

function driveLoop(choices: number[], isDisturbed: boolean, isSteered: boolean): Run {
  const run: Run = { state: initialState, events: [], commits: 0 }
  const past: LoopEvent[] = []
  const apply = (event: LoopEvent) => {
    // a parked activation is set aside and a committed one is over: another activation would start
    // with an empty journal
    const isAtRest = run.state.phase === 'parked' || run.commits > 0
    if (isAtRest && event.type === 'woken') return
    const next = step(run.state, event)
    if (next.state === run.state) return
    run.state = next.state
    run.events.push(event)
    if (event.type === 'committed') run.commits++
  }
  apply(woken())
  let at = 10
  for (let index = 0; run.state.phase !== 'idle' && index < 3_000; index++) {
    const choice = choices[index % choices.length] ?? 1
    at += 1
    for (const event of disturb(run, past, choice, at, { isDisturbed, isSteered })) apply(event)
    if (run.state.phase === 'parked') {
      at += 1_000_000
      const event = decide(run.state, choice, at)
      past.push(event)
      apply(event)
      continue
    }
    const effect = run.state.pending[choice % Math.max(1, run.state.pending.length)]
    if (!effect) break
    // failures end at some point: the loop would wait forever for a hub that never returns
    const number = index > 300 ? 1 : choice + index
    const event = (isSteered ? steeredOutcome : outcome)(effect, number, at, run.events)
    at = Math.max(at, event.at)
    past.push(event)
    // the machine stopped before the event was written: the effect runs again
    if (isDisturbed && choice % 31 === 0 && index < 300) continue
    apply(event)
    if (isDisturbed && choice % 3 === 0) apply(event)
  }
  return run
}

/**
 * Returns decisions of people on all parked calls, or none; sometimes a stop, or a used-up budget.
 */
function decide(state: LoopState, choice: number, at: number): LoopEvent {
  const calls = state.calls.filter(({ status }) => status === 'parked')
  const decisions = calls.map(({ callId }, index) => ({
    callId,
    decision: (['approved', 'denied', 'expired'] as const)[(choice + index) % 3] ?? 'denied',
  }))
  return resumed(choice % 10 === 0 ? [] : decisions, at, {
    isCancelled: choice % 11 === 0,
    admission: choice % 17 === 0 ? 'budget_exhausted' : 'granted',
  })
}

const unknown = (state: LoopState): string[] =>
  state.pending
    .flatMap((effect) => (effect.type === 'call_tool' ? [effect.callId] : []))
    .slice(0, 1)
