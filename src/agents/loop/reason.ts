import { type Ending, issue, type LoopState, type Step } from './state'
import { finish } from './step-end'

/** REASON: one more model call, unless a limit says otherwise (L8, L9, L10). */
export function reason(state: LoopState, at: number): Step {
  const limit = findLimit(state, at)
  if (limit) return finish(state, limit)
  const isRetry = state.retries > 0
  const modelCalls = state.modelCalls + 1
  return issue(
    {
      ...state,
      phase: 'reasoning',
      modelCalls,
      iteration: state.iteration + (isRetry ? 0 : 1),
      calls: [],
    },
    { type: 'call_model', mustRenew: modelCalls > 1 },
  )
}

function findLimit(state: LoopState, at: number): Ending | null {
  const partial = (outcome: Ending['outcome'], text: string): Ending => ({
    outcome,
    error: null,
    reply: 'partial',
    text,
  })
  if (state.retries === 0 && state.iteration >= state.limits.iterations) {
    return partial(
      'max_iterations',
      `I stopped after ${state.limits.iterations} steps. Raise \`behavior.max_iterations\` in my definition to let me go on.`,
    )
  }
  if (state.tokens >= state.limits.tokens) {
    return partial(
      'max_tokens',
      `I used ${state.tokens} of the ${state.limits.tokens} tokens I have for one task. Raise \`behavior.max_tokens\` in my definition to let me go on.`,
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
