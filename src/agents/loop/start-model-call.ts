import { activationLimits } from '../../shared/config'
import { checkWindow } from './compaction'
import { endingMessages, endingTexts } from './ending-texts'
import { outputTokensFloor } from './estimate'
import { type Ending, type LoopState, type Step, withEffects } from './state'
import { finishActivation } from './step-end'

/**
 * Starts the next model call (REASON), or a compaction when the context window is too full. Ends
 * the activation when a limit is reached or compaction cannot help.
 */
export function startModelCall(state: LoopState, at: number): Step {
  const limit = findLimit(state, at)
  if (limit) return finishActivation(state, limit)
  const window = checkWindow(state)
  if (window.kind === 'full') return finishActivation(state, describeFullWindow(state))
  const modelCalls = state.modelCalls + 1
  const mustRenew = modelCalls > 1
  if (window.kind === 'compact') {
    return withEffects(
      { ...state, phase: 'compacting', modelCalls, compactions: state.compactions + 1 },
      { type: 'compact', mustRenew, toShare: window.toShare, keepsAnswer: state.cutChars > 0 },
    )
  }
  const isRetry = state.retries > 0
  return withEffects(
    {
      ...state,
      phase: 'reasoning',
      modelCalls,
      iteration: state.iteration + (isRetry ? 0 : 1),
      calls: [],
    },
    { type: 'call_model', mustRenew },
  )
}

/** Whether a further model call is within all limits. */
export const canCallModel = (state: LoopState, at: number): boolean =>
  findLimit(state, at) === null && checkWindow(state).kind !== 'full'

function describeFullWindow({ promptTokens, limits }: LoopState): Ending {
  const message = endingMessages.contextFull(promptTokens, limits.contextTokens)
  return {
    outcome: 'context_limit',
    error: { code: 'CONTEXT_LIMIT', message },
    reply: 'partial',
    text: endingTexts.contextFull(promptTokens, limits.contextTokens),
  }
}

/** Returns the ending for the first limit that the next model call would exceed; null for none. */
function findLimit(state: LoopState, at: number): Ending | null {
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
