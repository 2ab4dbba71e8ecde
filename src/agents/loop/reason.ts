import { activationLimits } from '../../config'
import { judgeWindow } from './compaction'
import { outputTokensFloor } from './estimate'
import { type Ending, issue, type LoopState, type Step } from './state'
import { finish } from './step-end'

/**
 * REASON: one more model call, unless a limit says otherwise (L8, L9, L10) or the window is too full
 * for it (L19).
 */
export function reason(state: LoopState, at: number): Step {
  const limit = findLimit(state, at)
  if (limit) return finish(state, limit)
  const need = judgeWindow(state)
  if (need.kind === 'full') return finish(state, describeFullWindow(state))
  const modelCalls = state.modelCalls + 1
  const mustRenew = modelCalls > 1
  if (need.kind === 'compact') {
    return issue(
      { ...state, phase: 'compacting', modelCalls, compactions: state.compactions + 1 },
      { type: 'compact', mustRenew, toShare: need.toShare, keepsAnswer: state.cutChars > 0 },
    )
  }
  const isRetry = state.retries > 0
  return issue(
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

/** Which limit to raise (L9). */
export const raiseTokens =
  'Raise `behavior.max_tokens` or `brain.max_tokens_per_activation`, whichever is smaller, in my definition to let me go on.'

function describeFullWindow({ promptTokens, limits }: LoopState): Ending {
  const message = `The prompt is about ${promptTokens} tokens long and the model's window holds ${limits.contextTokens}.`
  return {
    outcome: 'context_limit',
    error: { code: 'CONTEXT_LIMIT', message },
    reply: 'partial',
    text: `I could not go on: there is more to read than my model can hold (about ${promptTokens} of ${limits.contextTokens} tokens). A shorter thread or a model with a larger window helps.`,
  }
}

function findLimit(state: LoopState, at: number): Ending | null {
  const partial = (outcome: Ending['outcome'], text: string): Ending => ({
    outcome,
    error: null,
    reply: 'partial',
    text,
  })
  if (state.retries === 0 && state.iteration >= state.limits.iterations) {
    if (state.limits.iterations >= activationLimits.iterationsCeiling) return atCeiling
    return partial(
      'max_iterations',
      `I stopped after ${state.limits.iterations} steps. Raise \`behavior.max_iterations\` in my definition to let me go on.`,
    )
  }
  const nextTokens = state.promptTokens + outputTokensFloor
  if (state.tokens + nextTokens > state.limits.tokens) {
    return partial(
      'max_tokens',
      `I used ${state.tokens} of the ${state.limits.tokens} tokens I have for one task, and my next step would need about ${nextTokens}. ${raiseTokens}`,
    )
  }
  if (at >= state.endsAt) {
    return partial(
      'max_duration',
      'I ran out of time. Raise `behavior.max_duration_seconds` in my definition to give me more.',
    )
  }
  return null
}

/** Nobody can raise this one (L9). */
const atCeiling: Ending = {
  outcome: 'max_iterations',
  error: null,
  reply: 'partial',
  text: `I stopped after ${activationLimits.iterationsCeiling} steps, the most anybody may take. I may have been going round in circles.`,
  warning: `Stopped at the hard ceiling of ${activationLimits.iterationsCeiling} steps: possible infinite loop.`,
}
