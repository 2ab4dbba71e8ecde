import { codingAgents } from '../../shared/config'
import { outputTokensFloor } from './estimate'
import type { FinalRefusal } from './program-event'
import type { ProgramState } from './program-state'
import type { LoopState } from './state'

/** A model request of a program, as far as limits are concerned. */
interface RequestSize {
  promptTokensMax: number
  /** Null: the program does not limit the answer. */
  outputTokens: number | null
}

export type RequestDecision =
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
