import { activationLimits } from '../../config'
import type { FinishReason, ModelAnswer, ToolRequest } from './message'
import { isUnexplained } from './read-answer'

export interface AdmittedCall extends ToolRequest {
  /** Why the call is not run; null when it is. */
  refusal: string | null
}

/** The calls of an activation so far: the ids they have, and how many of them were let through. */
interface EarlierCalls {
  callIds: string[]
  toolCalls: number
}

/**
 * Makes the calls of one model message safe to run and to send back: every id is unique within the
 * activation, and what may not run has its reason (L10, L26). An id of an earlier message gets a new
 * name and runs: some servers number the calls of each answer from zero. The same function serves `step`,
 * which runs the rest, and the transcript, which shows the refusals as results.
 */
export function admitCalls(
  { calls, finish }: Pick<ModelAnswer, 'calls' | 'finish'>,
  { callIds, toolCalls }: EarlierCalls,
): AdmittedCall[] {
  const ids = new Set(callIds)
  const inMessage = new Set([''])
  // a call that is refused uses up nothing: who asked for 200 at once may ask for the rest again
  let inActivation = toolCalls
  return calls.map((call, index) => {
    const isDoubled = inMessage.has(call.callId)
    const isTaken = isDoubled || ids.has(call.callId)
    const callId = isTaken ? freshId(call.callId || 'call', ids) : call.callId
    inMessage.add(call.callId)
    ids.add(callId)
    const refusal = refuse(index, inActivation, isDoubled, finish)
    if (refusal === null) inActivation++
    return { ...call, callId, refusal }
  })
}

/** Admits the calls of a journal's answers, one answer after the other, as `step` did. */
export class CallRegister {
  readonly #callIds: string[] = []
  #toolCalls = 0

  admit(answer: Pick<ModelAnswer, 'calls' | 'finish'>): AdmittedCall[] {
    const calls = admitCalls(answer, { callIds: this.#callIds, toolCalls: this.#toolCalls })
    this.#callIds.push(...calls.map(({ callId }) => callId))
    this.#toolCalls += calls.filter(({ refusal }) => refusal === null).length
    return calls
  }
}

function refuse(
  inStep: number,
  inActivation: number,
  isDoubled: boolean,
  finish: FinishReason,
): string | null {
  if (finish === 'length')
    return 'Error: your answer was cut off, so this call was not run. Ask for less at a time.'
  if (isUnexplained(finish))
    return 'Error: your answer ended for no known reason, so this call may not be whole and was not run.'
  if (isDoubled)
    return 'Error: this answer used the call id before. Give every call an id of its own.'
  if (inStep >= activationLimits.toolCallsPerStep) {
    return `Error: at most ${activationLimits.toolCallsPerStep} tool calls are run at a time.`
  }
  if (inActivation >= activationLimits.toolCallsPerActivation) {
    return `Error: at most ${activationLimits.toolCallsPerActivation} tool calls are run for one task.`
  }
  return null
}

function freshId(base: string, taken: Set<string>): string {
  let number = 2
  while (taken.has(`${base}-${number}`)) number++
  return `${base}-${number}`
}
