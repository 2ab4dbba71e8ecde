import { findWorking } from './admit-request'
import type { LoopEventOf } from './event'
import type { OpenCall } from './program-state'
import { canPark, findWaitEnd, listWaiting } from './program-waits'
import { type LoopState, type Step, withoutEffects } from './state'
import { closeProgram } from './step-program'

const withCall = (state: LoopState, call: OpenCall): LoopState => {
  const { program } = state
  if (!program) return state
  const calls = program.calls.map((each) => (each.callId === call.callId ? call : each))
  return { ...state, program: { ...program, calls } }
}

/** Notes that a call waits for an approval: it has not run, and is not in doubt. */
export function handleCallWaits(state: LoopState, event: LoopEventOf<'program_call_waits'>): Step {
  const { callId, approval, until } = event
  const call = findWorking(state, event.attempt)?.calls.find((each) => each.callId === callId)
  if (!call || call.wait?.approvalId === approval.callId) return withoutEffects(state)
  const wait = { approvalId: approval.callId, until: call.wait?.until ?? until }
  return withoutEffects(withCall(state, { ...call, wait }))
}

/** Notes that a call runs after all: it cannot be parked any more. */
export function handleCallDecided(
  state: LoopState,
  event: LoopEventOf<'program_call_decided'>,
): Step {
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
export function handleOverdue(state: LoopState, event: LoopEventOf<'approval_overdue'>): Step {
  const program = findWorking(state, event.attempt)
  const end = program && findWaitEnd(program)
  if (!program || end === null || end > event.at) return withoutEffects(state)
  if (canPark(program)) return closeProgram(state, null, 'parked', event.at)
  const calls = program.calls.map(({ wait: _, ...call }) => call)
  return withoutEffects({ ...state, program: { ...program, calls } })
}
