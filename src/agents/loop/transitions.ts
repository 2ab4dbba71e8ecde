import { activationLimits, compaction } from '../../shared/config'
import { type ActivationErrorCode, activationErrors } from '../../shared/errors'
import { checkWindow } from './compaction'
import { endingMessages, endingTexts } from './ending-texts'
import type { Charge } from './event'
import { outputTokensFloor } from './message'
import { isParking } from './program'
import {
  type Ending,
  isStopDeferred,
  isStoppable,
  type LoopState,
  type ProgramState,
  type Step,
  withEffects,
  withoutEffects,
} from './state'

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
        type: 'compact',
        mustRenew,
        toShare: window.toShare,
        keepsAnswer: state.cutChars > 0,
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

/** What an attempt begins with. */
const fresh = {
  place: 'asked',
  reports: 0,
  hasStarted: false,
  hasListedTools: false,
  last: null,
  calls: [],
  end: null,
} as const satisfies Partial<ProgramState>

/**
 * Gives the task, or what joined it, to the program. After a wait for approval the same turn goes on, with the calls
 * that were decided meanwhile.
 */
function startProgram(state: LoopState, program: ProgramState, at: number): Step {
  return isParking(program)
    ? beginAttempt(state, { ...program, writes: program.writes + state.calls.length }, at)
    : beginAttempt(state, { ...program, turn: program.turn + 1, mustResume: false }, at)
}

/** Begins an attempt. */
export function beginAttempt(state: LoopState, before: ProgramState, at: number): Step {
  const { turn } = before
  const attempt = before.attempt + 1
  const program: ProgramState = {
    ...before,
    ...fresh,
    calls: [],
    attempt,
    askedAt: at,
    closing: null,
  }
  const next: LoopState = { ...state, phase: 'reasoning', program, pending: [], calls: [] }
  return withEffects(next, { type: 'run_program', turn, attempt })
}

/** Whether a further model call is within all limits. */
export const canCallModel = (state: LoopState, at: number): boolean =>
  findLimit(state, at) === null && (state.program !== null || checkWindow(state).kind !== 'full')

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

/** The ending with the last answer. */
export const answered: Ending = { outcome: 'completed', error: null, reply: 'answer', text: '' }

/**
 * Ends the activation: drops all pending effects and issues the commit. Nobody waits for the answer of an
 * exploration or a schedule, so what stopped one is for the trace; the last answer of a schedule has a reader.
 */
export function finishActivation(state: LoopState, ending: Ending): Step {
  return withEffects(
    {
      ...state,
      phase: 'committing',
      pending: [],
      calls: [],
      commitFailures: 0,
      ending: isForNobody(state, ending) ? { ...ending, reply: 'silent' } : ending,
    },
    { type: 'commit' },
  )
}

const isForNobody = ({ task }: LoopState, { reply }: Ending): boolean =>
  task === 'exploration' || (task === 'scheduled' && reply !== 'answer')

/** Returns the ending for a time limit or a stop. */
export const toStopEnding = (state: LoopState, outcome: 'max_duration' | 'cancelled'): Ending => ({
  outcome,
  error: null,
  reply: 'partial',
  text:
    outcome === 'cancelled'
      ? endingTexts.cancelled()
      : endingTexts.timedOutAfter(state.limits.durationMs),
})

/**
 * Ends an activation that was stopped while LOAD kept failing. The commit finds out whether the hub
 * had claimed anything for it.
 */
export const stopUnclaimedActivation = (state: LoopState): Step =>
  finishActivation({ ...state, isCancelled: false }, toStopEnding(state, 'cancelled'))

/**
 * Ends the activation because of the time limit or a person. A stop while the work is being claimed
 * or parked is deferred until the hub has answered, since only then it is known what the hub holds.
 * Once the commit is pending there is nothing left to stop.
 */
export function stopActivation(
  state: LoopState,
  outcome: 'max_duration' | 'cancelled',
  charge: Charge | null,
): Step {
  if (isStopDeferred(state) && outcome === 'cancelled') {
    return withoutEffects(state.isCancelled ? state : { ...state, isCancelled: true })
  }
  if (!isStoppable(state)) return withoutEffects(state)
  return finishActivation(addCharge(state, charge), toStopEnding(state, outcome))
}

/** Ends the activation as failed; the requester gets a short message. */
export function failActivation(
  state: LoopState,
  code: ActivationErrorCode,
  message: string,
  isPermanent = false,
): Step {
  return finishActivation(state, {
    outcome: 'failed',
    error: { code, message },
    reply: 'partial',
    text: endingTexts.failed(message, !isPermanent && activationErrors[code].isRecoverable),
  })
}

/**
 * Adds the charge of a model call to the totals that the limits of the activation are checked
 * against.
 */
export function addCharge(state: LoopState, charge: Charge | null): LoopState {
  if (!charge) return state
  return {
    ...state,
    tokens: state.tokens + charge.inputTokens + charge.outputTokens,
    microusd: state.microusd + charge.microusd,
  }
}
