import type { Effect } from './effect'
import { estimateTokensOfChars } from './estimate'
import type { LoopEventOf } from './event'
import { canCallModel } from './find-limit'
import { startModelCall } from './start-model-call'
import { type LoopState, type Step, withEffects } from './state'
import { answered, finishActivation } from './step-end'

/**
 * Ends with the answer of the model, unless a comment may have arrived for the run and a further model call is
 * possible: then asks the hub first. What is not asked for is delivered after the commit.
 */
export function steerOrFinish(state: LoopState, at: number): Step {
  if (!state.maySteer || !canCallModel(state, at)) return finishActivation(state, answered)
  return withEffects({ ...state, maySteer: false }, { type: 'steer' })
}

/**
 * Adds comments that joined the run as a user message, and calls the model: again after an answer, which is not
 * posted then, or for the first time when they were found right before a call. Without any the answer stands.
 */
export function handleSteered(
  state: LoopState,
  { items, at }: LoopEventOf<'steered'>,
  { type }: Effect,
): Step {
  if (items.length === 0) return finishActivation(state, answered)
  const chars = items.reduce((sum, { text }) => sum + text.length, 0)
  const wasCounted = type === 'call_model' && state.retries === 0
  return startModelCall(
    {
      ...state,
      maySteer: false,
      ...(state.isCompactOnly && { isCompactOnly: false }),
      cutChars: 0,
      emptyAnswers: 0,
      iteration: state.iteration - (wasCounted ? 1 : 0),
      entries: state.entries + 1,
      promptTokens: state.promptTokens + estimateTokensOfChars(chars + noteChars * items.length),
    },
    at,
  )
}

/** Characters that a comment is long beside its text: the note and the fence. */
const noteChars = 400
