import { activationLimits } from '../../shared/config'
import type { AdmittedCall } from './admit-calls'
import { estimateTokensOfChars } from './estimate'
import type { LoopEventOf } from './event'
import { startModelCall } from './start-model-call'
import { type LoopState, type Step, type StepCall, withEffects } from './state'

/**
 * Runs the admitted calls of an answer (ACT), five at a time and sequential ones alone; refused
 * calls already have their results.
 */
export function runCalls(
  state: LoopState,
  admitted: AdmittedCall[],
  event: LoopEventOf<'model_answered'>,
): Step {
  // matched by index: an admitted call may have another id than the model gave
  const calls = admitted.flatMap(({ callId, refusal }, index): StepCall[] => {
    const isSequential = event.calls[index]?.isSequential ?? false
    return refusal === null ? [{ callId, status: 'todo', isSequential }] : []
  })
  const next: LoopState = {
    ...state,
    phase: 'acting',
    toolCalls: state.toolCalls + calls.length,
    callIds: [...state.callIds, ...admitted.map(({ callId }) => callId)],
    calls,
  }
  return startCalls(next, event.at)
}

/** Handles a tool result (OBSERVE): once every call has a result, the model is called again. */
export function handleToolReturned(state: LoopState, event: LoopEventOf<'tool_returned'>): Step {
  const promptTokens =
    state.promptTokens + estimateTokensOfChars(event.text.length + event.name.length)
  const calls = markDone(state.calls, [event.callId])
  return startCalls({ ...state, calls, promptTokens }, event.at)
}

export const markDone = (calls: StepCall[], callIds: string[]): StepCall[] =>
  calls.map((call) => (callIds.includes(call.callId) ? { ...call, status: 'done' } : call))

/**
 * Starts as many calls as have a slot. With none left to run, calls the model again, or parks when
 * a call requires approval.
 */
export function startCalls(state: LoopState, at: number): Step {
  const running = state.calls.filter(({ status }) => status === 'running')
  const todo = state.calls.filter(({ status }) => status === 'todo')
  if (running.length === 0 && todo.length === 0) {
    const isParked = state.calls.some(({ status }) => status === 'parked')
    return isParked ? park(state) : startModelCall(state, at)
  }
  const started = chooseCalls(running, todo)
  const calls = state.calls.map((call) =>
    started.includes(call) ? ({ ...call, status: 'running' } as const) : call,
  )
  return withEffects(
    { ...state, calls },
    ...started.map(({ callId }) => ({ type: 'call_tool', callId }) as const),
  )
}

/** Asks the hub to park the activation, since only parked calls are left. */
const park = (state: LoopState): Step =>
  withEffects({ ...state, phase: 'parking', commitFailures: 0 }, { type: 'park' })

/**
 * Returns the calls to start, in order; a sequential call runs alone and later calls wait for it.
 */
function chooseCalls(running: StepCall[], todo: StepCall[]): StepCall[] {
  const chosen: StepCall[] = []
  for (const call of todo) {
    const busy = running.length + chosen.length
    if (busy >= activationLimits.toolCallsAtOnce) break
    if (running.some(({ isSequential }) => isSequential)) break
    if (call.isSequential) {
      if (busy === 0) chosen.push(call)
      break
    }
    chosen.push(call)
  }
  return chosen
}
