import { codingAgents } from '../../shared/config'
import type { FinalRefusal, StoredReport } from './event'
import { outputTokensFloor } from './message'
import {
  type LoopState,
  type OpenCall,
  type ProgramState,
  type Step,
  type StepCall,
  withEffects,
} from './state'

/** A model request of a program, as far as limits are concerned. */
interface RequestSize {
  promptTokensMax: number
  /** Null: the program does not limit the answer. */
  outputTokens: number | null
}

type RequestDecision =
  | { kind: 'admitted'; outputTokens: number }
  | { kind: 'refused'; reason: FinalRefusal }
  /** For a moment: too many are in flight. */
  | { kind: 'wait' }
  | { kind: 'not_running' }

/** Returns the program of an activation while it works; null when it does not, or another attempt does. */
export function findWorking(state: LoopState, attempt?: number): ProgramState | null {
  const { program, phase, pending } = state
  const isAtWork = phase === 'reasoning' && pending.some(({ type }) => type === 'run_program')
  if (!program || !isAtWork) return null
  return attempt === undefined || attempt === program.attempt ? program : null
}

/** Returns the worst case of the requests whose usage is not known yet. */
export function sumOpen({ open }: Pick<ProgramState, 'open'>) {
  const sum = { tokens: 0, microusd: 0 }
  for (const { worst } of open) {
    sum.tokens += worst.inputTokens + worst.outputTokens
    sum.microusd += worst.microusd
  }
  return sum
}

/** Decides by the limits of the run whether its program may make a model request, before money is reserved. */
export function decideRequest(
  state: LoopState,
  { promptTokensMax, outputTokens }: RequestSize,
  outputTokensMax: number,
  at: number,
): RequestDecision {
  const program = findWorking(state)
  if (!program) return { kind: 'not_running' }
  const { limits } = state
  if (at >= state.endsAt) return { kind: 'refused', reason: 'max_duration' }
  if (program.takesTools && !program.hasListedTools) return { kind: 'refused', reason: 'no_tools' }
  if (program.requests >= limits.iterations) return { kind: 'refused', reason: 'max_iterations' }
  const left = limits.tokens - state.tokens - promptTokensMax
  if (left < outputTokensFloor) return { kind: 'refused', reason: 'max_tokens' }
  // what is in flight may cost less than its worst case: the program may ask again
  const leftNow = left - sumOpen(program).tokens
  const isBusy = program.open.length >= codingAgents.requestsAtOnce
  if (isBusy || leftNow < outputTokensFloor) return { kind: 'wait' }
  const wanted = Math.min(outputTokens ?? outputTokensMax, outputTokensMax)
  return { kind: 'admitted', outputTokens: Math.max(1, Math.min(wanted, leftNow)) }
}

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

/** Returns the characters of a report that count toward what a program may write. */
export function countReportChars(report: StoredReport): number {
  switch (report.kind) {
    case 'text':
    case 'reasoning':
    case 'notice':
      return report.text.length
    case 'plan':
    case 'tool':
      return JSON.stringify(report).length
    case 'started':
    case 'ended':
      return 0
  }
}
