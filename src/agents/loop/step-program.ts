import { codingAgents } from '../../shared/config'
import type { ActivationErrorCode } from '../../shared/errors'
import { endingMessages, endingTexts } from './ending-texts'
import type { LoopEvent, LoopEventOf, StoredReport } from './event'
import {
  canPark,
  countReportChars,
  countWritten,
  findWaitEnd,
  findWorking,
  isInDoubt,
  isParking,
  listWaiting,
  parkProgram,
} from './program'
import {
  type Ending,
  type LastRequest,
  type LoopState,
  type OpenCall,
  type OpenRequest,
  type ProgramEnd,
  type ProgramState,
  type Step,
  type StopReason,
  withEffects,
  withoutEffects,
} from './state'
import { addCharge, answered, beginAttempt, canCallModel, finishActivation } from './transitions'

const withProgram = (state: LoopState, changes: Partial<ProgramState>): LoopState =>
  state.program ? { ...state, program: { ...state.program, ...changes } } : state

type FromProgram = Exclude<
  LoopEvent,
  | { effectId: number }
  | LoopEventOf<'woken' | 'time_ran_out' | 'cancel_requested' | 'interrupted' | 'resumed'>
>

/** Returns the step for what a program, its runner or the hub's answer to it reports. */
export function handleProgram(state: LoopState, event: FromProgram): Step {
  switch (event.type) {
    case 'program_placed':
      return handlePlaced(state, event)
    case 'request_admitted':
      return handleAdmitted(state, event)
    case 'request_settled':
      return handleSettled(state, event)
    case 'request_refused':
      return handleRefused(state, event)
    case 'tools_listed':
      return handleToolsListed(state, event)
    case 'program_called':
      return handleCalled(state, event)
    case 'program_call_returned':
      return handleCallReturned(state, event)
    case 'program_call_waits':
      return handleCallWaits(state, event)
    case 'program_call_decided':
      return handleCallDecided(state, event)
    case 'approval_overdue':
      return handleOverdue(state, event)
    case 'program_reported':
      return handleReported(state, event)
    case 'program_lost':
      return handleLost(state, event)
  }
}

/** Notes where the attempt is. After a while without a suitable runner the requester is notified, once. */
function handlePlaced(state: LoopState, event: LoopEventOf<'program_placed'>): Step {
  const program = findWorking(state, event.attempt)
  if (!program || program.hasStarted) return withoutEffects(state)
  const { kind: place, at } = event
  const mustNotify =
    place === 'nobody' && !program.isNotified && at - program.askedAt >= codingAgents.nobodyThereMs
  if (mustNotify) {
    return withEffects(withProgram(state, { place, isNotified: true }), { type: 'notify_nobody' })
  }
  return withoutEffects(program.place === place ? state : withProgram(state, { place }))
}

/** Counts an admitted request. One that no longer fits the state was not admitted. */
function handleAdmitted(state: LoopState, event: LoopEventOf<'request_admitted'>): Step {
  const { attempt, request, worst, at } = event
  const program = findWorking(state, attempt)
  if (!program || request !== program.requests + 1) return withoutEffects(state)
  const aside = event.isAside && { isAside: event.isAside }
  const open = [...program.open, { request, startedAt: at, worst, ...aside }]
  return withoutEffects({
    ...withProgram(state, { requests: request, open, hasStarted: true }),
    iteration: request,
    modelCalls: state.modelCalls + 1,
    maySteer: state.maySteer || event.maySteer === true,
  })
}

/** Charges a request, once. */
function handleSettled(state: LoopState, event: LoopEventOf<'request_settled'>): Step {
  const { request, finish, problem, charge } = event
  const { program } = state
  const settled = program?.open.find((each) => each.request === request)
  if (!program || !settled) return withoutEffects(state)
  const changes = {
    open: program.open.filter((each) => each !== settled),
    last: toLast(program.last, settled, { finish, problem }),
  }
  return settleClosing(addCharge(withProgram(state, changes), charge), event.at)
}

/**
 * Returns the request that judges the turn: the one with the highest number, those for another model than the run's
 * only as long as there is no other. Codex asks for a title of its session when its turn is over, and is ended then.
 */
function toLast(
  last: LastRequest | null,
  { request, isAside }: OpenRequest,
  end: Pick<LastRequest, 'finish' | 'problem'>,
): LastRequest {
  if (last && isAside && !last.isAside) return last
  if (last && isAside === last.isAside && request < last.request) return last
  return { request, ...end, ...(isAside && { isAside }) }
}

/** Ends the run for a refusal that would repeat itself. */
function handleRefused(state: LoopState, event: LoopEventOf<'request_refused'>): Step {
  if (!findWorking(state, event.attempt)) return withoutEffects(state)
  return closeProgram(state, toRefusalEnding(state, event), 'ended', event.at)
}

function handleToolsListed(state: LoopState, { attempt }: LoopEventOf<'tools_listed'>): Step {
  const program = findWorking(state, attempt)
  if (!program || program.hasListedTools) return withoutEffects(state)
  return withoutEffects(withProgram(state, { hasListedTools: true, hasStarted: true }))
}

function handleCalled(state: LoopState, event: LoopEventOf<'program_called'>): Step {
  const { callId, isWrite } = event
  const program = findWorking(state, event.attempt)
  if (!program || state.callIds.includes(callId)) return withoutEffects(state)
  const changes = {
    calls: [...program.calls, { callId, isWrite }],
    writes: program.writes + (isWrite ? 1 : 0),
  }
  return withoutEffects({
    ...withProgram(state, changes),
    toolCalls: state.toolCalls + 1,
    callIds: [...state.callIds, callId],
  })
}

/** Notes that a call returned. One that was not allowed has changed nothing. */
function handleCallReturned(
  state: LoopState,
  { callId, decision, at }: LoopEventOf<'program_call_returned'>,
): Step {
  const { program } = state
  const call = program?.calls.find((each) => each.callId === callId)
  // the program that is ended leaves the call for which its run parks
  if (!program || !call || (call.wait && isParking(program))) return withoutEffects(state)
  const calls = program.calls.filter((each) => each !== call)
  const isUnmade = call.isWrite && decision !== 'allowed'
  const writes = program.writes - (isUnmade ? 1 : 0)
  return settleClosing(withProgram(state, { calls, writes }), at)
}

/** Stores reports of the current attempt, each once and in order; the last one ends the turn. */
function handleReported(state: LoopState, event: LoopEventOf<'program_reported'>): Step {
  const { program } = state
  const { attempt, first, reports, at } = event
  const isOpen = state.phase === 'closing' || findWorking(state) !== null
  if (!program || !isOpen || program.attempt !== attempt || program.end)
    return withoutEffects(state)
  if (first !== program.reports + 1) return withoutEffects(state)
  const next = withProgram(state, { ...foldReports(program, reports), hasStarted: true })
  const ended = reports.find((each) => each.kind === 'ended')
  if (state.phase === 'closing') return settleClosing(next, at)
  const hasBegunAnew = reports.some((each) => each.kind === 'started' && !each.is_resumed)
  if (program.mustResume && hasBegunAnew) return closeProgram(next, toInterruption(), 'ended', at)
  if (!ended) return withoutEffects(next)
  return ended.end === 'lost' ? recoverProgram(next, at) : closeProgram(next, null, null, at)
}

function foldReports(program: ProgramState, reports: StoredReport[]): Partial<ProgramState> {
  const changes: Partial<ProgramState> = { reports: program.reports + reports.length }
  let { chars } = program
  for (const report of reports) {
    chars += countReportChars(report)
    if ('session_id' in report && report.session_id !== null) changes.sessionId = report.session_id
    if (report.kind !== 'ended') continue
    const { end, detail, is_success, answer } = report
    changes.end = { end, detail, is_success, hasAnswer: answer.trim() !== '' }
  }
  return { ...changes, chars }
}

function handleLost(state: LoopState, event: LoopEventOf<'program_lost'>): Step {
  const { program } = state
  if (!program || program.attempt !== event.attempt || program.end) return withoutEffects(state)
  if (state.phase === 'closing') {
    const end = { end: 'lost', detail: null, is_success: false, hasAnswer: false } as const
    return settleClosing(withProgram(state, { end }), event.at)
  }
  return findWorking(state) ? recoverProgram(state, event.at) : withoutEffects(state)
}

/**
 * Begins again after a loss: with the program's session unless a write may have happened whose result is unknown,
 * else without it unless something was written. Otherwise the run ends with what it did.
 */
function recoverProgram(state: LoopState, at: number): Step {
  const { program } = state
  if (!program) return withoutEffects(state)
  const canResume = program.sessionId !== null && !isInDoubt(program)
  const writes = countWritten(program)
  const mustResume = writes > 0
  const losses = program.losses + 1
  if (losses > codingAgents.lossesMax || (mustResume && !canResume)) {
    return closeProgram(withProgram(state, { losses }), toInterruption(), null, at)
  }
  const sessionId = canResume ? program.sessionId : null
  return beginAttempt(state, { ...program, losses, sessionId, writes, mustResume }, at)
}

/**
 * Ends the turn: stops the program if it may still run, and waits for the usage of its open requests, for a short
 * time. Without an ending, the end is judged then.
 */
export function closeProgram(
  state: LoopState,
  ending: Ending | null,
  stop: StopReason | null,
  at: number,
): Step {
  const closing: LoopState = {
    ...withProgram(state, { closing: { ending, stop } }),
    phase: 'closing',
    pending: [],
  }
  const { program } = closing
  if (!program) return withoutEffects(state)
  if (stop === null && program.open.length === 0) return conclude(closing, at)
  const { attempt } = program
  const until = at + (stop === 'parked' ? codingAgents.parkingMs : codingAgents.closingMs)
  return withEffects(closing, { type: 'close_program', attempt, stop, until })
}

/** Whether nothing more can arrive that the run waits for. */
export const isProgramOver = (program: ProgramState): boolean => {
  const { open, closing, hasStarted, end } = program
  const mayWrite = isParking(program) && isInDoubt(program)
  return open.length === 0 && !mayWrite && (closing?.stop === null || !hasStarted || end !== null)
}

/** Concludes as soon as everything is known; a program that was never seen is stopped by the effect first. */
function settleClosing(state: LoopState, at: number): Step {
  const { program, phase } = state
  const isOver = phase === 'closing' && program?.hasStarted && isProgramOver(program)
  return isOver ? conclude({ ...state, pending: [] }, at) : withoutEffects(state)
}

/** Charges the worst case of every request whose usage is still unknown. */
export function handleClosed(state: LoopState, event: LoopEventOf<'program_closed'>): Step {
  const { program } = state
  if (!program) return withoutEffects(state)
  const isSame = program.open.map(({ request }) => request).join() === event.requests.join()
  if (!isSame) {
    const { attempt } = program
    return withEffects(state, { type: 'close_program', attempt, stop: null, until: event.at })
  }
  const unknown = { finish: 'unknown', problem: null }
  const last = program.open.reduce<LastRequest | null>(
    (before, each) => toLast(before, each, unknown),
    program.last,
  )
  return conclude(addCharge(withProgram(state, { open: [], last }), event.charge), event.at)
}

/** Ends the run. Before an answer, asks for comments that join it, as an agent without a program does. */
function conclude(state: LoopState, at: number): Step {
  const { program } = state
  if (!program) return withoutEffects(state)
  if (isParking(program) && listWaiting(program).length > 0) {
    return isInDoubt(program)
      ? finishActivation(state, toInterruption())
      : parkProgram(state, program)
  }
  const ending = program.closing?.ending ?? judgeProgram(state, program)
  const mayGoOn = ending === answered && state.maySteer && canCallModel(state, at)
  return mayGoOn
    ? withEffects({ ...state, phase: 'reasoning', maySteer: false }, { type: 'steer' })
    : finishActivation(state, ending)
}

const withCall = (state: LoopState, call: OpenCall): LoopState => {
  const { program } = state
  if (!program) return state
  const calls = program.calls.map((each) => (each.callId === call.callId ? call : each))
  return { ...state, program: { ...program, calls } }
}

/** Notes that a call waits for an approval: it has not run, and is not in doubt. */
function handleCallWaits(state: LoopState, event: LoopEventOf<'program_call_waits'>): Step {
  const { callId, approval, until } = event
  const call = findWorking(state, event.attempt)?.calls.find((each) => each.callId === callId)
  if (!call || call.wait?.approvalId === approval.callId) return withoutEffects(state)
  const wait = { approvalId: approval.callId, until: call.wait?.until ?? until }
  return withoutEffects(withCall(state, { ...call, wait }))
}

/** Notes that a call runs after all: it cannot be parked any more. */
function handleCallDecided(state: LoopState, event: LoopEventOf<'program_call_decided'>): Step {
  const program = findWorking(state, event.attempt)
  const call = program && listWaiting(program).find(({ callId }) => callId === event.callId)
  if (!call) return withoutEffects(state)
  const { wait: _, ...running } = call
  return withoutEffects(withCall(state, running))
}

/**
 * Ends the program whose call has waited for too long, so that its run parks. A run that could not go on afterwards
 * keeps its program, whose call is then refused.
 */
function handleOverdue(state: LoopState, event: LoopEventOf<'approval_overdue'>): Step {
  const program = findWorking(state, event.attempt)
  const end = program && findWaitEnd(program)
  if (!program || end === null || end > event.at) return withoutEffects(state)
  if (canPark(program)) return closeProgram(state, null, 'parked', event.at)
  const calls = program.calls.map(({ wait: _, ...call }) => call)
  return withoutEffects({ ...state, program: { ...program, calls } })
}

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
const toInterruption = (): Ending => failed('INTERRUPTED', endingMessages.runnerLost(), false)

/**
 * Judges how the turn of a program ended. What it claims is not believed: an answer counts when the program ended
 * its turn without an error, has listed the hub's tools, and its last model request ended with a stop.
 */
function judgeProgram({ limits }: LoopState, program: ProgramState): Ending {
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
function toRefusalEnding(state: LoopState, event: LoopEventOf<'request_refused'>): Ending {
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
