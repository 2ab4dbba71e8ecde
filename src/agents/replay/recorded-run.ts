import type { ApprovalDecision, SteeringItem } from '../../hub/contract/hub'
import { toCanonicalArguments } from '../../shared/exact-json'
import { CallRegister } from '../loop/admit-calls'
import type { LoadedFacts, LoopEvent, LoopEventOf, RequestParameters } from '../loop/event'
import type { ToolRequest } from '../loop/message'

/** A call of a recorded run, with what came of it. */
export interface RecordedCall {
  /** The approvals that it required, one after the other, with the event that decided on each; null: none did. */
  approvals: { parked: LoopEventOf<'tool_parked'>; decidedBy: LoopEventOf<'resumed'> | null }[]
  /** Null when it did not run, or nobody knows. */
  result: LoopEventOf<'tool_returned'> | null
}

/** Comments that joined a run, and how many answers its model had given until then. */
interface Join {
  answers: number
  items: SteeringItem[]
}

/** What a run was given from outside, in the order in which it asked for it. */
export class RecordedRun {
  readonly events: LoopEvent[]
  readonly facts: LoadedFacts
  /** When it had read its task; milliseconds since the epoch. */
  readonly loadedAt: number
  readonly joins: Join[]
  readonly #calls = new Map<string, RecordedCall[]>()
  readonly #requests: RequestParameters[]

  /** @param loaded its event LOAD, which is one of the events */
  constructor(events: LoopEvent[], loaded: LoopEventOf<'loaded'>) {
    this.events = events
    this.facts = loaded.facts
    this.loadedAt = loaded.at
    this.joins = listJoins(events)
    this.#requests = events.flatMap((event) => readRequest(event) ?? [])
    for (const { call } of listCalls(events)) this.#addCall(call)
  }

  /** Files a call that something is recorded of under its arguments, and under those that a hook gave it. */
  #addCall({ callId, name, arguments: asked }: ToolRequest): void {
    const { events } = this
    const result = events.find(
      (event): event is LoopEventOf<'tool_returned'> =>
        event.type === 'tool_returned' && event.callId === callId,
    )
    const approvals = events.flatMap((event, index) => {
      if (event.type !== 'tool_parked' || event.callId !== callId) return []
      const decidedBy = events.slice(index).find((each) => each.type === 'resumed') ?? null
      return [{ parked: event, decidedBy }]
    })
    if (!result && approvals.length === 0) return
    const ran = [
      asked,
      result?.arguments ?? asked,
      approvals[0]?.parked.approval.arguments ?? asked,
    ]
    for (const key of new Set(ran.map((args) => toCallKey(name, args)))) {
      this.#calls.set(key, [...(this.#calls.get(key) ?? []), { approvals, result: result ?? null }])
    }
  }

  /**
   * Returns the recorded call with the same tool and arguments that has as many before it, or else the last; null when
   * none is recorded.
   */
  findCall(key: string, before: number): { call: RecordedCall; isRepeated: boolean } | null {
    const calls = this.#calls.get(key) ?? []
    const call = calls[before] ?? calls.at(-1)
    return call ? { call, isRepeated: before >= calls.length } : null
  }

  /** Returns the size of the agent's storage as the model read it; null when it did not. */
  get storageBytes(): number | null {
    const status = this.#requests[0]?.status ?? ''
    const kib = /it stores (\d+) KiB/.exec(status)?.[1]
    return kib === undefined ? null : Number(kib) * 1024
  }

  /** Returns the names of the tools that the model call with as many before it was offered; null when no call is recorded. */
  listTools(before: number): string[] | null {
    const named = this.#requests.slice(0, before + 1).findLast(({ tools }) => tools !== undefined)
    return named?.tools ?? null
  }
}

/** Two calls with the same key have the same tool and canonically equal arguments. */
export const toCallKey = (tool: string, args: string): string =>
  `${tool} ${toCanonicalArguments(args)}`

/** Returns the calls that ran or should have, in the order in which the model asked for them. */
export function listCalls(events: LoopEvent[]): { step: number; call: ToolRequest }[] {
  const register = new CallRegister(events)
  let step = 0
  return events.flatMap((event) => {
    if (event.type !== 'model_answered') return []
    step++
    const calls = register.admit(event.answer).filter(({ refusal }) => refusal === null)
    return calls.map((call) => ({ step, call }))
  })
}

/** Returns the tools of the first model call that a run made; null when it made none. */
export const findFirstTools = (
  events: LoopEvent[],
): Pick<RequestParameters, 'tools' | 'toolsHash'> | null => {
  for (const event of events) {
    const request = readRequest(event)
    if (request) return request
  }
  return null
}

/** Counts the calls of the model, compactions not included. */
export const countModelCalls = (events: LoopEvent[]): number =>
  events.filter((event) => readRequest(event) !== null).length

/** Returns the parameters of the model call that ended with an event. */
const readRequest = (event: LoopEvent): RequestParameters | null =>
  ((event.type === 'model_answered' || event.type === 'model_failed') && event.request) || null

export const countAnswers = (events: LoopEvent[]): number =>
  events.filter(({ type }) => type === 'model_answered').length

function listJoins(events: LoopEvent[]): Join[] {
  let answers = 0
  return events.flatMap((event) => {
    if (event.type === 'model_answered') answers++
    return event.type === 'steered' ? [{ answers, items: event.items }] : []
  })
}

/** Returns the decision on a recorded approval; null when it was not decided before the run went on or ended. */
export const findDecision = ({
  parked,
  decidedBy,
}: RecordedCall['approvals'][number]): ApprovalDecision | null =>
  decidedBy?.decisions.find(({ callId }) => callId === parked.callId) ?? null
