import { activationLimits } from '../../shared/config'
import type { Limits, LoopEvent } from './event'
import { type FinishReason, isUnknownEnd, type ModelAnswer, type ToolRequest } from './message'

export interface AdmittedCall extends ToolRequest {
  /** Why the call is not run; null when it is. */
  refusal: string | null
}

/** The calls of an activation so far: their ids, and how many of them were admitted. */
interface EarlierCalls {
  callIds: string[]
  toolCalls: number
  limits: Pick<Limits, 'iterations'>
}

/**
 * Returns the calls of one model answer with ids that are unique within the activation, and with
 * the reason for each call that is not run.
 * A call id of an earlier answer is renamed and its call runs: some servers number the calls of
 * each answer from zero. `step` uses this to run the admitted calls, and the transcript uses it to
 * show the refusals as results.
 */
export function admitCalls(
  { calls, finish }: Pick<ModelAnswer, 'calls' | 'finish'>,
  { callIds, toolCalls, limits }: EarlierCalls,
): AdmittedCall[] {
  const ids = new Set(callIds)
  const toUniqueId = createUniqueIds(ids)
  const callsMax = findCallsMax(limits)
  const inMessage = new Set([''])
  // refused calls do not count: a model that asked for 200 at once may ask for the rest again
  let inActivation = toolCalls
  return calls.map((call, index) => {
    const isDuplicate = inMessage.has(call.callId)
    const isTaken = isDuplicate || ids.has(call.callId)
    const callId = isTaken ? toUniqueId(call.callId || 'call') : call.callId
    inMessage.add(call.callId)
    ids.add(callId)
    const refusal = findRefusal(index, { inActivation, callsMax }, isDuplicate, finish)
    if (refusal === null) inActivation++
    return { ...call, callId, refusal }
  })
}

/** Returns how many tool calls an activation can run: at least one for each of its steps. */
export const findCallsMax = ({ iterations }: Pick<Limits, 'iterations'>): number =>
  Math.max(activationLimits.toolCallsPerActivation, iterations)

/** Admits the calls of the answers in a journal, one answer after the other, as `step` did. */
export class CallRegister {
  readonly #limits: Pick<Limits, 'iterations'>
  readonly #callIds: string[] = []
  #toolCalls = 0

  constructor(journal: LoopEvent[]) {
    const loaded = journal.find((event) => event.type === 'loaded')
    this.#limits = loaded?.facts.limits ?? { iterations: 0 }
  }

  admit(answer: Pick<ModelAnswer, 'calls' | 'finish'>): AdmittedCall[] {
    const [callIds, toolCalls, limits] = [this.#callIds, this.#toolCalls, this.#limits]
    const calls = admitCalls(answer, { callIds, toolCalls, limits })
    this.#callIds.push(...calls.map(({ callId }) => callId))
    this.#toolCalls += calls.filter(({ refusal }) => refusal === null).length
    return calls
  }
}

/** Results of calls that are not run, as the model reads them. */
const refusals = {
  truncated:
    'Error: your answer was truncated, so this call was not run. Make fewer or shorter calls.',
  unknownEnd:
    'Error: your answer ended for no known reason, so this call may be incomplete and was not run.',
  duplicateId: 'Error: this call id is already used in this answer. Give every call a unique id.',
  tooManyInStep: (max: number) => `Error: at most ${max} tool calls are run at a time.`,
  tooMany: (max: number) => `Error: at most ${max} tool calls are run for one task.`,
}

/** Returns why a call is not run, as a result for the model; null when it runs. */
function findRefusal(
  inStep: number,
  { inActivation, callsMax }: { inActivation: number; callsMax: number },
  isDuplicate: boolean,
  finish: FinishReason,
): string | null {
  const { toolCallsPerStep } = activationLimits
  if (finish === 'length') return refusals.truncated
  if (isUnknownEnd(finish)) return refusals.unknownEnd
  if (isDuplicate) return refusals.duplicateId
  if (inStep >= toolCallsPerStep) return refusals.tooManyInStep(toolCallsPerStep)
  if (inActivation >= callsMax) return refusals.tooMany(callsMax)
  return null
}

/** Returns a function that makes ids that are not taken; it remembers where it was, since one id may repeat in every call. */
function createUniqueIds(taken: ReadonlySet<string>): (base: string) => string {
  const next = new Map<string, number>()
  return (base) => {
    let number = next.get(base) ?? 2
    while (taken.has(`${base}-${number}`)) number++
    next.set(base, number + 1)
    return `${base}-${number}`
  }
}
