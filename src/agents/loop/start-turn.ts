import type { ProgramState } from './program-state'
import { isParking } from './program-waits'
import { type LoopState, type Step, withEffects } from './state'

/** What an attempt begins with. */
const fresh = {
  place: 'asked',
  reports: 0,
  hasStarted: false,
  hasListedTools: false,
  last: null,
  calls: [],
  end: null,
} as const satisfies Partial<ProgramState>

/**
 * Gives the task, or what joined it, to the program. After a wait for approval the same turn goes on, with the calls
 * that were decided meanwhile.
 */
export function startProgram(state: LoopState, program: ProgramState, at: number): Step {
  return isParking(program)
    ? beginAttempt(state, { ...program, writes: program.writes + state.calls.length }, at)
    : beginAttempt(state, { ...program, turn: program.turn + 1, mustResume: false }, at)
}

/** Begins an attempt. */
export function beginAttempt(state: LoopState, before: ProgramState, at: number): Step {
  const { turn } = before
  const attempt = before.attempt + 1
  const program: ProgramState = {
    ...before,
    ...fresh,
    calls: [],
    attempt,
    askedAt: at,
    closing: null,
  }
  const next: LoopState = { ...state, phase: 'reasoning', program, pending: [], calls: [] }
  return withEffects(next, { type: 'run_program', turn, attempt })
}
