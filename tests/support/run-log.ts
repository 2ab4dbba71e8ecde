import type { Trace } from '../../src/agents/contract/agents'
import type { LoopEvent } from '../../src/agents/loop/event'
import { openRun, recordVersion } from '../../src/agents/run/record'
import type { RunEvent, RunEventOf } from '../../src/agents/run/run-event'
import type { ActivationId } from '../../src/shared/ids'

/** Returns the record of a run that is seen as these events, with everything filled in that a test does not care about. */
export function toStoredLog(events: RunEvent[]): string {
  const ended = events.find((event) => event.type === 'ended')
  const { outcome, error, finishedAt = null, warning } = ended ?? {}
  const ending = outcome && { outcome, error, reply: 'answer', text: '', warning }
  const journal = events.flatMap((event) => (event === ended ? [] : toLoopEvent(event)))
  return JSON.stringify({ version: recordVersion, events: journal, ending, finishedAt })
}

/** Returns the record of a run whose results of tools are from the account that its requester connected. */
export const withOwnAccount = (stored: string): string =>
  stored.replaceAll('"type":"tool_returned"', '"type":"tool_returned","isOwnAccount":true')

/** Returns an event of the loop that is seen as this one. */
function toLoopEvent(event: RunEvent): LoopEvent {
  const { at, type } = event
  const toEvent = (fields: object) => ({ at, type, effectId: 0, ...fields }) as LoopEvent
  switch (type) {
    case 'loaded': {
      const { agent: agentName, session, goal, ...facts } = event
      return toEvent({
        facts: {
          ...facts,
          agentName,
          ...(session !== null && { session: { id: session, task: '', gist: '' } }),
          ...(goal !== null && { goal }),
        },
      })
    }
    case 'model_answered': {
      const { text, reasoning, finish, calls, step: _step, warning, ...rest } = event
      const answer = { text, reasoning, finish, calls, usage: null }
      return toEvent({ ...rest, answer, calls: [], ...(warning !== null && { warning }) })
    }
    case 'model_failed': {
      const { code, message, detail, ...rest } = event
      return toEvent({ ...rest, failure: { code, message, detail } })
    }
    case 'tool_returned': {
      const { grant, decision, plan, ...rest } = event
      const revised = plan && { arguments: JSON.stringify(plan) }
      return toEvent({ ...rest, ...revised, audit: decision === null ? null : { grant, decision } })
    }
    case 'steered':
      return toEvent({
        items: event.items.map(({ author, ...item }) => ({ ...item, from: { name: author } })),
      })
    case 'interrupted': {
      const { closed, ...rest } = event
      return toEvent({ ...rest, unknownCallIds: closed.map(({ callId }) => callId) })
    }
    case 'parked':
    case 'committed':
      return toEvent({ kind: event.isLost ? 'lost' : 'done' })
    case 'program_placed':
      return toEvent({ attempt: event.attempt, kind: event.place })
    case 'program_reported': {
      const { text, reasoning, changes = null } = event
      const end = { kind: 'ended', end: 'end_turn', detail: null, changes }
      const texts = [
        { kind: 'text', text },
        { kind: 'reasoning', text: reasoning },
      ]
      return toEvent({ attempt: event.attempt, reports: [...texts, end] })
    }
    default:
      return toEvent(event)
  }
}

/** Returns a stored run as its owner sees it. */
export function openTrace(stored: string | null | undefined): Trace {
  const trace = openRun(stored ?? '', 'all', false)
  if (!trace) throw new Error(`not a log: ${stored?.slice(0, 100)}`)
  return trace
}

type Fields<Type extends RunEvent['type']> = Partial<Omit<RunEventOf<Type>, 'type'>>

export const charge = (over: Partial<RunEventOf<'model_answered'>['charge']> = {}) => ({
  inputTokens: 3,
  cachedTokens: 0,
  outputTokens: 2,
  reasoningTokens: 0,
  microusd: 30,
  isPriced: true,
  isEstimated: false,
  durationMs: 20,
  ...over,
})

export const woken = (activationId: string, at = 1_000): RunEvent => ({
  type: 'woken',
  at,
  activationId: activationId as ActivationId,
})

export const loaded = (over: Fields<'loaded'> = {}): RunEvent => ({
  type: 'loaded',
  at: 1_000,
  agent: 'scout',
  task: 'mention',
  session: null,
  goal: null,
  model: { id: 'test/model', isOffline: false, substitutedFor: null },
  definition: { version: 1, etag: 'e' },
  prompt: [],
  notes: [],
  requesters: [],
  ...over,
})

/** An answer of the model, which took 20 ms unless `at` says otherwise. */
export const answered = (over: Fields<'model_answered'> = {}): RunEvent => {
  const { startedAt = 1_000, calls = [] } = over
  return {
    type: 'model_answered',
    at: startedAt + 20,
    step: 1,
    startedAt,
    calls,
    input: null,
    text: '',
    reasoning: '',
    warning: null,
    finish: calls.length > 0 ? 'tool-calls' : 'stop',
    charge: charge(),
    hooks: [],
    ...over,
  }
}

export const requested = (callId: string, name: string, args = '{}') => ({
  callId,
  name,
  arguments: args,
  refusal: null,
})

export const returned = (callId: string, over: Fields<'tool_returned'> = {}): RunEvent => {
  const { startedAt = 1_020 } = over
  return {
    type: 'tool_returned',
    at: startedAt + 5,
    startedAt,
    durationMs: 5,
    callId,
    name: 'hub_search',
    arguments: '{}',
    text: '',
    isError: false,
    resultBytes: 0,
    grant: 'hub:read',
    decision: 'allowed',
    hooks: [],
    ...over,
  }
}

export const ended = (over: Fields<'ended'> = {}): RunEvent => ({
  type: 'ended',
  at: 2_000,
  finishedAt: 2_000,
  outcome: 'completed',
  error: null,
  warning: null,
  closed: [],
  ...over,
})
