import type { ActivationErrorCode } from '../../shared/errors'
import { endingMessages, endingTexts } from './ending-texts'
import type { LoopEventOf } from './event'
import type { ProgramEnd, ProgramState } from './program-state'
import type { Ending, LoopState } from './state'
import { answered } from './step-end'

const partial = (outcome: Ending['outcome'], text: string): Ending => ({
  outcome,
  error: null,
  reply: 'partial',
  text,
})

const failed = (code: ActivationErrorCode, message: string, isRecoverable = true): Ending => ({
  outcome: 'failed',
  error: { code, message },
  reply: 'partial',
  text: endingTexts.failed(message, isRecoverable),
})

/** The ending after a runner was lost, when beginning again could write twice. */
export const toInterruption = (): Ending =>
  failed('INTERRUPTED', endingMessages.runnerLost(), false)

/**
 * Judges how the turn of a program ended. What it claims is not believed: an answer counts when the program ended
 * its turn without an error, has listed the hub's tools, and its last model request ended with a stop.
 */
export function judgeProgram({ limits }: LoopState, program: ProgramState): Ending {
  const { end, last, type, takesTools, hasListedTools } = program
  if (takesTools && !hasListedTools) return failed('NO_TOOLS', endingMessages.noTools(type))
  if (last?.finish === 'length') return partial('max_tokens', endingTexts.answerLimit())
  if (last?.finish === 'content-filter') return filtered
  if (end && end.end !== 'end_turn') return explainEnd(end.end, type, limits.iterations, program)
  if (!end?.is_success || last?.finish !== 'stop') return explainFailure(program)
  return end.hasAnswer
    ? answered
    : failed('EMPTY_RESPONSE', endingMessages.programSaidNothing(type))
}

const filtered: Ending = {
  outcome: 'content_filtered',
  error: { code: 'CONTENT_FILTERED', message: endingMessages.contentFiltered() },
  reply: 'notice',
  text: endingTexts.contentFiltered(),
}

/** Returns the ending for an end that the program itself does not call a success. */
function explainEnd(
  end: Exclude<ProgramEnd['end'], 'end_turn'>,
  type: string,
  iterations: number,
  program: ProgramState,
): Ending {
  switch (end) {
    case 'no_tools':
      return failed('NO_TOOLS', endingMessages.noTools(type))
    case 'max_tokens':
      return partial('max_tokens', endingTexts.answerLimit())
    case 'max_turn_requests':
      return partial('max_iterations', endingTexts.iterationLimit(iterations))
    case 'refusal':
      return filtered
    case 'silent':
      return failed('TIMEOUT', endingMessages.programSilent(type))
    case 'output_limit':
      return failed('PROVIDER_ERROR', endingMessages.tooMuch(type))
    case 'cancelled':
      return failed('INTERRUPTED', endingMessages.programStopped(type))
    case 'error':
    case 'lost':
      return explainFailure(program)
  }
}

/** How providers say that an account cannot pay for more. */
const usedUpWords = /\b(?:credits?|billing|quota|payment)\b/i

/** Returns the ending after a failure of the program or its last model request. */
function explainFailure(program: ProgramState): Ending {
  const { type, last } = program
  const isUsedUp = last?.finish === 'error' && usedUpWords.test(last.problem ?? '')
  return isUsedUp
    ? failed('PROVIDER_ERROR', endingMessages.quotaUsedUp(type), false)
    : failed('PROVIDER_ERROR', describeFailure(program))
}

/** Says what went wrong; what the program says of it is in the trace, since it may quote the prompt. */
function describeFailure({ type, last }: ProgramState): string {
  if (!last) return endingMessages.noRequest(type)
  return last.finish === 'stop'
    ? endingMessages.programFailed(type)
    : endingMessages.requestFailed(type)
}

/** Returns how the run ends after a refusal that the program cannot work around. */
export function toRefusalEnding(state: LoopState, event: LoopEventOf<'request_refused'>): Ending {
  const { limits, tokens } = state
  switch (event.reason) {
    case 'budget_exhausted':
      return partial('budget_exhausted', endingTexts.budgetExhausted(event.shortage))
    case 'max_tokens':
      return partial('max_tokens', endingTexts.tokensUsedUp(tokens))
    case 'max_iterations':
      return partial('max_iterations', endingTexts.iterationLimit(limits.iterations))
    case 'max_duration':
      return partial('max_duration', endingTexts.timedOutAfter(limits.durationMs))
    case 'paused':
      return partial('cancelled', endingTexts.paused())
    case 'no_tools':
      return failed('NO_TOOLS', endingMessages.noTools(state.program?.type ?? ''))
    case 'lost':
      return {
        outcome: 'cancelled',
        error: null,
        reply: 'silent',
        text: endingTexts.finishedElsewhere(),
      }
  }
}
