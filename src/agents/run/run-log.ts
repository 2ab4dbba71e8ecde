import { type AdmittedCall, CallRegister } from '../loop/admit-calls'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import { hasUsedOwnAccount } from '../loop/own-account'
import type { Ending } from '../loop/state'
import { convertProgram, convertReports, convertRequest, convertWait } from './convert-program'
import { PlanRevisions, planToolName } from './plan-revisions'
import {
  type ClosedCall,
  type RunEvent,
  type RunEventOf,
  type RunLog,
  runLogVersion,
} from './run-event'
import { findStoppedEffects } from './stopped-effects'

/**
 * Returns the log of a run from its journal: an event for each, and `ended` when the outcome is
 * decided. The log depends on the journal alone, and a longer journal only appends events.
 */
export function toRunLog(
  journal: LoopEvent[],
  ending: Ending | null,
  finishedAt: number | null = null,
): RunLog {
  const builder = new RunLogBuilder(journal)
  const events = journal.map((event, index) => builder.convert(event, index))
  if (ending) events.push(builder.end(ending, finishedAt))
  return {
    version: runLogVersion,
    ...(hasUsedOwnAccount(journal) && { usesOwnAccount: true }),
    events,
  }
}

const errors = {
  cancelled: 'Error: operation cancelled by user.',
  timedOut: 'Error: timed out.',
  unknown: 'Error: the outcome is unknown.',
  // as in the prompt of the model
  notRun: 'Error: this call was not run.',
}

/** Converts the events of one journal, in order. */
class RunLogBuilder {
  readonly #journal: LoopEvent[]
  readonly #register: CallRegister
  readonly #revisions = new PlanRevisions()
  readonly #requested = new Map<string, AdmittedCall>()
  /** Ids of calls without a result. */
  readonly #open = new Set<string>()
  #step = 0

  constructor(journal: LoopEvent[]) {
    this.#journal = journal
    this.#register = new CallRegister(journal)
  }

  convert(event: LoopEvent, index: number): RunEvent {
    const { at, type } = event
    switch (type) {
      case 'loaded':
        return convertLoaded(event)
      case 'model_answered':
        return this.#convertAnswer(event)
      case 'tool_returned':
        return this.#convertResult(event)
      case 'resumed':
        return this.#convertResumed(event)
      case 'request_settled':
        return convertRequest(event, () => ++this.#step)
      case 'program_called':
        return this.#convertCalled(event)
      case 'program_call_waits':
        return convertWait(event)
      case 'program_call_returned':
        return this.#convertCallReturned(event)
      case 'program_reported':
        return convertReports(event, this.#revisions)
      case 'time_ran_out':
      case 'cancel_requested':
        return this.#convertStop(event, index)
      case 'interrupted': {
        const closed = this.#close(event.unknownCallIds, errors.unknown)
        return { at, type, charge: event.charge, isEnded: event.isEnded ?? false, closed }
      }
      default:
        return convertOther(event)
    }
  }

  end({ outcome, error, warning }: Ending, finishedAt: number | null): RunEventOf<'ended'> {
    const closed = this.#close([...this.#open], errors.notRun)
    const at = findEnd(this.#journal)
    return { at, type: 'ended', finishedAt, outcome, error, warning: warning ?? null, closed }
  }

  #convertAnswer(event: LoopEventOf<'model_answered'>): RunEvent {
    const { at, type, startedAt, answer, charge } = event
    const { text, reasoning, finish, usage, providerParts } = answer
    const calls = this.#register.admit(answer)
    for (const call of calls) {
      this.#requested.set(call.callId, call)
      if (call.refusal === null) this.#open.add(call.callId)
    }
    return {
      at,
      type,
      step: ++this.#step,
      startedAt,
      request: event.request ?? null,
      input: event.input ?? null,
      text,
      reasoning,
      finish,
      usage,
      ...(providerParts !== undefined && { providerParts }),
      calls: calls.map((call, index) => ({
        ...call,
        isSequential: event.calls[index]?.isSequential ?? false,
      })),
      charge,
      warning: event.warning ?? null,
      hooks: event.hooks ?? [],
    }
  }

  #convertResult(event: LoopEventOf<'tool_returned'>): RunEvent {
    const { at, type, startedAt, durationMs, callId, text, isError, resultBytes, audit } = event
    const requested = this.#requested.get(callId)
    const args = event.arguments ?? requested?.arguments ?? ''
    const name = event.name || (requested?.name ?? '')
    const plan = name === planToolName && !isError ? this.#revisions.apply(args) : null
    this.#open.delete(callId)
    return {
      at,
      type,
      startedAt,
      durationMs,
      callId,
      name,
      arguments: args,
      text,
      isError,
      resultBytes,
      grant: audit?.grant ?? null,
      decision: audit?.decision ?? null,
      ...(audit?.ruleId !== undefined && { allowedBy: audit.reason ?? '' }),
      hooks: event.hooks ?? [],
      ...(plan && { plan }),
    }
  }

  #convertCalled({ at, type, ...call }: LoopEventOf<'program_called'>): RunEvent {
    const { callId, name, arguments: args } = call
    this.#requested.set(callId, { callId, name, arguments: args, refusal: null })
    this.#open.add(callId)
    return { at, type, callId, name, arguments: args }
  }

  #convertCallReturned(event: LoopEventOf<'program_call_returned'>): RunEvent {
    const { at, startedAt, durationMs, callId, text, isError, resultBytes, grant, decision } = event
    const { name = '', arguments: args = '' } = this.#requested.get(callId) ?? {}
    const plan = name === planToolName && !isError ? this.#revisions.apply(args) : null
    this.#open.delete(callId)
    return {
      ...{ at, type: 'tool_returned', startedAt, durationMs, callId, name, arguments: args, text },
      ...{ isError, resultBytes, grant, decision, hooks: [] },
      ...(plan && { plan }),
    }
  }

  #convertResumed(event: LoopEventOf<'resumed'>): RunEvent {
    const { at, type, admission, decisions, isCancelled } = event
    const closed = decisions.flatMap(({ callId, decision }) =>
      decision === 'approved' ? [] : this.#close([callId], `Error: the approval was ${decision}.`),
    )
    if (isCancelled) closed.push(...this.#close([...this.#open], errors.cancelled))
    return { at, type, admission, decisions, isCancelled, closed }
  }

  #convertStop(event: LoopEventOf<'time_ran_out' | 'cancel_requested'>, index: number): RunEvent {
    const { at, type, charge } = event
    const { pending, since } = findStoppedEffects(this.#journal, index)
    const text = type === 'time_ran_out' ? errors.timedOut : errors.cancelled
    const running = new Set(pending.map((each) => (each.type === 'call_tool' ? each.callId : '')))
    const closed = this.#close([...this.#open], text).map((call) => ({
      ...call,
      startedAt: running.has(call.callId) ? (since.get(call.callId) ?? at) : null,
    }))
    return { at, type, charge, stopped: pending[0]?.type ?? null, closed }
  }

  /** Gives calls without a result an error as their result. */
  #close(callIds: string[], text: string): ClosedCall[] {
    return callIds.flatMap((callId) => {
      const name = this.#requested.get(callId)?.name ?? ''
      return this.#open.delete(callId) ? [{ callId, name, text, startedAt: null }] : []
    })
  }
}

function convertLoaded({ at, type, facts }: LoopEventOf<'loaded'>): RunEvent {
  const { agentName: agent, model, task, definition, admission, limits, prompt } = facts
  return {
    at,
    type,
    agent,
    model,
    task,
    requesters: facts.requesters ?? [],
    session: facts.session?.id ?? null,
    goal: facts.goal ?? null,
    definition,
    admission,
    limits,
    prompt,
    historyFrom: facts.historyFrom,
    notes: facts.notes ?? [],
  }
}

type Other = Exclude<
  LoopEvent['type'],
  | 'loaded'
  | 'model_answered'
  | 'tool_returned'
  | 'resumed'
  | 'time_ran_out'
  | 'cancel_requested'
  | 'interrupted'
  | 'request_settled'
  | 'program_called'
  | 'program_call_waits'
  | 'program_call_returned'
  | 'program_reported'
>

/** Converts an event that needs nothing of the events before it. */
function convertOther(event: LoopEventOf<Other>): RunEvent {
  const { at, type } = event
  switch (type) {
    case 'woken':
      return { at, type, activationId: event.activationId }
    case 'load_waited':
      return { at, type, retryAt: event.retryAt, reason: event.reason }
    case 'load_failed':
      return { at, type, code: event.code, message: event.message }
    case 'model_failed': {
      const { code, message, detail } = event.failure
      const { startedAt, request = null, charge } = event
      return { at, type, startedAt, request, code, message, detail: detail || null, charge }
    }
    case 'model_refused':
      return { at, type, reason: event.reason }
    case 'model_waited':
      return { at, type, retryAt: event.retryAt }
    case 'steered': {
      const items = event.items.map(({ from, isModeration, text }) => ({
        author: from.name,
        isModeration,
        text,
      }))
      return { at, type, items }
    }
    case 'tool_parked': {
      const { startedAt, callId, name, approval, hooks = [] } = event
      return { at, type, startedAt, callId, name, approval, hooks }
    }
    case 'compacted': {
      const { startedAt, summary, replaced, tokensBefore, tokens, charge, problem } = event
      return { at, type, startedAt, summary, replaced, tokensBefore, tokens, charge, problem }
    }
    case 'parked':
    case 'committed':
      return { at, type, isLost: event.kind === 'lost' }
    case 'program_placed':
    case 'request_admitted':
    case 'request_refused':
    case 'tools_listed':
    case 'program_call_decided':
    case 'approval_overdue':
    case 'program_lost':
    case 'program_closed':
    case 'nobody_notified':
      return convertProgram(event)
    default:
      return { at, type }
  }
}

/** Returns the time at which the outcome was decided; later events are about the commit. */
function findEnd(journal: LoopEvent[]): number {
  const firstFailure = journal.findIndex(({ type }) => type === 'commit_failed')
  const before = firstFailure < 0 ? journal : journal.slice(0, firstFailure)
  const cause = before.findLast(
    (event) =>
      event.type !== 'woken' &&
      event.type !== 'committed' &&
      !(event.type === 'interrupted' && event.isEnded),
  )
  return cause?.at ?? 0
}
