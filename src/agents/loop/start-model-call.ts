import { compaction } from '../../shared/config'
import { checkWindow } from './compaction'
import { endingMessages, endingTexts } from './ending-texts'
import { findLimit } from './find-limit'
import { startProgram } from './start-turn'
import { type Ending, type LoopState, type Step, withEffects } from './state'
import { finishActivation } from './step-end'

/**
 * Starts the next model call (REASON), or a compaction when the context window is too full; for a coding agent the
 * next turn of its program. Ends the activation when a limit is reached or compaction cannot help.
 */
export function startModelCall(state: LoopState, at: number): Step {
  const limit = findLimit(state, at)
  if (limit) return finishActivation(state, limit)
  if (state.program) return startProgram(state, state.program, at)
  const window = state.isCompactOnly
    ? ({ kind: 'compact', toShare: compaction.forcedShare } as const)
    : checkWindow(state)
  if (window.kind === 'full') return finishActivation(state, describeFullWindow(state))
  const modelCalls = state.modelCalls + 1
  const mustRenew = modelCalls > 1
  if (window.kind === 'compact') {
    return withEffects(
      { ...state, phase: 'compacting', modelCalls, compactions: state.compactions + 1 },
      {
        ...{ type: 'compact', mustRenew, toShare: window.toShare, keepsAnswer: state.cutChars > 0 },
        ...(state.isCompactOnly && { isManual: true }),
      },
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

function describeFullWindow({ promptTokens, limits }: LoopState): Ending {
  const message = endingMessages.contextFull(promptTokens, limits.contextTokens)
  const details = { estimated: promptTokens, limit: limits.contextTokens }
  return {
    outcome: 'context_limit',
    error: { code: 'CONTEXT_LIMIT', message, details },
    reply: 'partial',
    text: endingTexts.contextFull(promptTokens, limits.contextTokens),
  }
}
