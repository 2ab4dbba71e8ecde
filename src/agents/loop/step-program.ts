import { codingAgents } from '../../shared/config'
import { findWorking } from './admit-request'
import { addCharge } from './charge-state'
import type { StopReason } from './effect'
import type { LoopEventOf } from './event'
import { canCallModel } from './find-limit'
import { judgeProgram, toInterruption, toRefusalEnding } from './judge-program'
import type { StoredReport } from './program-event'
import type { ProgramState } from './program-state'
import { countWritten, isInDoubt, isParking, listWaiting, parkProgram } from './program-waits'
import { countReportChars } from './report-size'
import { beginAttempt } from './start-turn'
import { type Ending, type LoopState, type Step, withEffects, withoutEffects } from './state'
import { answered, finishActivation } from './step-end'

const withProgram = (state: LoopState, changes: Partial<ProgramState>): LoopState =>
  state.program ? { ...state, program: { ...state.program, ...changes } } : state

/** Notes where the attempt is. After a while without a suitable runner the requester is notified, once. */
export function handlePlaced(state: LoopState, event: LoopEventOf<'program_placed'>): Step {
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
export function handleAdmitted(state: LoopState, event: LoopEventOf<'request_admitted'>): Step {
  const { attempt, request, worst, at } = event
  const program = findWorking(state, attempt)
  if (!program || request !== program.requests + 1) return withoutEffects(state)
  const open = [...program.open, { request, startedAt: at, worst }]
  return withoutEffects({
    ...withProgram(state, { requests: request, open, hasStarted: true }),
    iteration: request,
    modelCalls: state.modelCalls + 1,
    maySteer: state.maySteer || event.maySteer === true,
  })
}

/** Charges a request, once. */
export function handleSettled(state: LoopState, event: LoopEventOf<'request_settled'>): Step {
  const { request, finish, problem, charge } = event
  const { program } = state
  if (!program?.open.some((each) => each.request === request)) return withoutEffects(state)
  const isLast = program.last === null || request > program.last.request
  const changes = {
    open: program.open.filter((each) => each.request !== request),
    last: isLast ? { request, finish, problem } : program.last,
  }
  return settleClosing(addCharge(withProgram(state, changes), charge), event.at)
}

/** Ends the run for a refusal that would repeat itself. */
export function handleRefused(state: LoopState, event: LoopEventOf<'request_refused'>): Step {
  if (!findWorking(state, event.attempt)) return withoutEffects(state)
  return closeProgram(state, toRefusalEnding(state, event), 'ended', event.at)
}

export function handleToolsListed(
  state: LoopState,
  { attempt }: LoopEventOf<'tools_listed'>,
): Step {
  const program = findWorking(state, attempt)
  if (!program || program.hasListedTools) return withoutEffects(state)
  return withoutEffects(withProgram(state, { hasListedTools: true, hasStarted: true }))
}

export function handleCalled(state: LoopState, event: LoopEventOf<'program_called'>): Step {
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
export function handleCallReturned(
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
export function handleReported(state: LoopState, event: LoopEventOf<'program_reported'>): Step {
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

export function handleLost(state: LoopState, event: LoopEventOf<'program_lost'>): Step {
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
  const newest = program.open.at(-1)?.request ?? 0
  const isLast = newest > (program.last?.request ?? 0)
  const last = isLast ? { request: newest, finish: 'unknown', problem: null } : program.last
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
