import { activationLimits } from '../../shared/config'
import { checkWindow } from './compaction'
import { endingTexts } from './ending-texts'
import { outputTokensFloor } from './estimate'
import type { Ending, LoopState } from './state'

/** Whether a further model call is within all limits. */
export const canCallModel = (state: LoopState, at: number): boolean =>
  findLimit(state, at) === null && (state.program !== null || checkWindow(state).kind !== 'full')

/** Returns the ending for the first limit that the next model call would exceed; null for none. */
export function findLimit(state: LoopState, at: number): Ending | null {
  const partial = (outcome: Ending['outcome'], text: string): Ending => ({
    outcome,
    error: null,
    reply: 'partial',
    text,
  })
  if (state.retries === 0 && state.iteration >= state.limits.iterations) {
    if (state.limits.iterations >= activationLimits.iterationsCeiling) return ceilingEnding
    return partial('max_iterations', endingTexts.iterationLimit(state.limits.iterations))
  }
  const nextTokens = state.promptTokens + outputTokensFloor
  if (state.tokens + nextTokens > state.limits.tokens) {
    return partial(
      'max_tokens',
      endingTexts.tokenLimit(state.tokens, state.limits.tokens, nextTokens),
    )
  }
  if (at >= state.endsAt) {
    return partial('max_duration', endingTexts.timedOut())
  }
  return null
}

/** The ending at the hard ceiling of iterations, which no setting can raise. */
const ceilingEnding: Ending = {
  outcome: 'max_iterations',
  error: null,
  reply: 'partial',
  text: endingTexts.iterationCeiling(activationLimits.iterationsCeiling),
  warning: endingTexts.iterationCeilingWarning(activationLimits.iterationsCeiling),
}
