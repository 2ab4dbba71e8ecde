import type { OpenCall, ProgramState } from './program-state'
import { type LoopState, type Step, type StepCall, withEffects } from './state'

/** Returns the calls that wait for an approval; none of them has run. */
export const listWaiting = ({ calls }: Pick<ProgramState, 'calls'>): OpenCall[] =>
  calls.filter(({ wait }) => wait !== undefined)

/** Whether a call that may have changed something has not returned. */
export const isInDoubt = ({ calls }: Pick<ProgramState, 'calls'>): boolean =>
  calls.some(({ isWrite, wait }) => isWrite && wait === undefined)

/** Returns the number of calls that may have changed something, without those that wait. */
export const countWritten = (program: ProgramState): number =>
  program.writes - listWaiting(program).filter(({ isWrite }) => isWrite).length

/** Returns when the first wait for an approval ends; null when the program waits for none. */
export function findWaitEnd(program: Pick<ProgramState, 'calls'>): number | null {
  const ends = listWaiting(program).flatMap(({ wait }) => (wait ? [wait.until] : []))
  return ends.length === 0 ? null : Math.min(...ends)
}

/** Whether the run can go on after its program has ended: with the session, or because nothing was written. */
export const canPark = (program: ProgramState): boolean =>
  program.sessionId !== null || (countWritten(program) === 0 && !isInDoubt(program))

/** Whether the program is ended because its run parks. */
export const isParking = ({ closing }: Pick<ProgramState, 'closing'>): boolean =>
  closing?.stop === 'parked'

/** Returns the program that is ended because its run parks, until the hub is asked to park it; else null. */
export const findParking = ({ phase, program }: LoopState): ProgramState | null =>
  phase === 'closing' && program && isParking(program) ? program : null

/** Asks the hub to park the run until the calls that the program waited for are decided. */
export function parkProgram(state: LoopState, program: ProgramState): Step {
  const ids = listWaiting(program).flatMap(({ wait }) => (wait ? [wait.approvalId] : []))
  const calls = [...new Set(ids)].map(
    (callId): StepCall => ({ callId, status: 'parked', isSequential: false }),
  )
  const writes = countWritten(program)
  const next = { ...program, calls: [], writes, mustResume: writes > 0 }
  return withEffects(
    { ...state, phase: 'parking', program: next, calls, pending: [], commitFailures: 0 },
    { type: 'park' },
  )
}
