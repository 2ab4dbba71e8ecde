import { type AdmittedCall, CallRegister } from '../loop/admit-calls'
import type { LoopEvent, LoopEventOf, StoredReport } from '../loop/event'
import { hasUsedOwnAccount } from '../loop/privacy'
import { type Ending, initialState, type LoopState } from '../loop/state'
import { step } from '../loop/step'
import { foldPlan, formatPlanProgress, PlanRevisions, planToolName } from './plan'
import type { ClosedCall, RunEvent, RunEventOf, RunLog } from './run-event'

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
  return { ...(hasUsedOwnAccount(journal) && { usesOwnAccount: true }), events }
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
      case 'program_called': {
        const { callId, name, arguments: args } = event
        this.#requested.set(callId, { callId, name, arguments: args, refusal: null })
        this.#open.add(callId)
        return event
      }
      case 'program_call_waits':
        return convertWait(event)
      case 'program_call_returned':
        return this.#closeCall(
          event,
          {},
          { grant: event.grant, decision: event.decision, hooks: [] },
        )
      case 'program_reported':
        return convertReports(event, this.#revisions)
      case 'time_ran_out':
      case 'cancel_requested':
        return this.#convertStop(event, index)
      case 'interrupted': {
        const closed = this.#close(event.unknownCallIds, errors.unknown)
        return { at, type, charge: event.charge, isEnded: event.isEnded ?? false, closed }
      }
      case 'model_failed': {
        const { code, message, detail } = event.failure
        const { startedAt, charge } = event
        return { at, type, startedAt, code, message, detail: detail || null, charge }
      }
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
      case 'parked':
      case 'committed':
        return { at, type, isLost: event.kind === 'lost' }
      case 'program_placed':
        return { at, type, attempt: event.attempt, place: event.kind }
      case 'request_refused':
        return { at, type: 'model_refused', reason: event.reason }
      case 'program_closed':
        return { at, type, requests: event.requests.length, charge: event.charge }
      // Any other is seen as it is, or this does not compile.
      default:
        return event
    }
  }

  end({ outcome, error, warning }: Ending, finishedAt: number | null): RunEventOf<'ended'> {
    const closed = this.#close([...this.#open], errors.notRun)
    const at = findEnd(this.#journal)
    return { at, type: 'ended', finishedAt, outcome, error, warning: warning ?? null, closed }
  }

  #convertAnswer(event: LoopEventOf<'model_answered'>): RunEvent {
    const { at, type, startedAt, answer, charge } = event
    const { text, reasoning, finish } = answer
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
      input: event.input ?? null,
      text,
      reasoning,
      finish,
      calls,
      charge,
      warning: event.warning ?? null,
      hooks: event.hooks ?? [],
    }
  }

  #convertResult(event: LoopEventOf<'tool_returned'>): RunEvent {
    const { audit, hooks = [] } = event
    return this.#closeCall(event, event, {
      grant: audit?.grant ?? null,
      decision: audit?.decision ?? null,
      ...(audit?.ruleId !== undefined && { allowedBy: audit.reason ?? '' }),
      hooks,
    })
  }

  /** Converts the result of a call, and takes from its request what is not `given`. */
  #closeCall(
    event: LoopEventOf<'tool_returned' | 'program_call_returned'>,
    given: { name?: string; arguments?: string },
    more: Pick<RunEventOf<'tool_returned'>, 'grant' | 'decision' | 'allowedBy' | 'hooks'>,
  ): RunEvent {
    const { at, startedAt, durationMs, callId, text, isError, resultBytes } = event
    const requested = this.#requested.get(callId)
    const args = given.arguments ?? requested?.arguments ?? ''
    const name = given.name || (requested?.name ?? '')
    const plan = name === planToolName && !isError ? this.#revisions.apply(args) : null
    this.#open.delete(callId)
    return {
      at,
      type: 'tool_returned',
      startedAt,
      durationMs,
      callId,
      name,
      arguments: args,
      text,
      isError,
      resultBytes,
      ...more,
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
    const { state, since } = replayLoop(this.#journal.slice(0, index))
    const { pending } = state
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
  const { agentName: agent, model, task, definition, prompt } = facts
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
    prompt,
    notes: facts.notes ?? [],
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

/** Converts a model request to the step of the run that it is, or to a failed call. */
function convertRequest(event: LoopEventOf<'request_settled'>, countStep: () => number): RunEvent {
  const { at, startedAt, finish, charge, problem } = event
  if (charge === null || finish === 'error' || finish === 'cancelled') {
    const code = findFailureCode(event)
    const message = failureMessages[code]
    return {
      at,
      type: 'model_failed',
      startedAt,
      code,
      message,
      detail: problem,
      charge,
    }
  }
  return {
    at,
    type: 'model_answered',
    step: countStep(),
    startedAt,
    input: null,
    text: '',
    reasoning: '',
    finish,
    calls: [],
    charge,
    warning: null,
    hooks: [],
  }
}

const failureMessages = {
  CANCELLED: 'The program ended the request before its answer was complete.',
  PROVIDER_AUTH: 'The model provider refused the key.',
  PROVIDER_BUSY: 'The model provider is busy.',
  PROVIDER_ERROR: 'The model provider failed.',
} as const

function findFailureCode({
  finish,
  status,
}: LoopEventOf<'request_settled'>): keyof typeof failureMessages {
  if (finish === 'cancelled') return 'CANCELLED'
  if (status === 401 || status === 403) return 'PROVIDER_AUTH'
  return status === 429 || status === 503 || status === 529 ? 'PROVIDER_BUSY' : 'PROVIDER_ERROR'
}

/** Converts a wait for approval. */
const convertWait = ({ at, callId, approval }: LoopEventOf<'program_call_waits'>): RunEvent => ({
  at,
  type: 'tool_parked',
  startedAt: at,
  callId,
  name: approval.tool,
  approval,
  hooks: [],
})

/** Converts reports: what the program wrote, its plan, and its own tools as notes. */
export function convertReports(
  { at, type, attempt, reports }: LoopEventOf<'program_reported'>,
  revisions: PlanRevisions,
): RunEventOf<'program_reported'> {
  const plan = reports.findLast((report) => report.kind === 'plan')
  const ended = reports.find((report) => report.kind === 'ended')
  const changes = ended?.kind === 'ended' ? ended.changes : null
  return {
    at,
    type,
    attempt,
    text: joinTexts(reports, 'text'),
    reasoning: joinTexts(reports, 'reasoning'),
    notes: reports.flatMap(describeReport),
    ...(plan?.kind === 'plan' && { plan: revisions.replace(plan.steps) }),
    ...(changes && changes.stat !== '' && { changes }),
  }
}

const joinTexts = (reports: StoredReport[], kind: 'text' | 'reasoning'): string =>
  reports.map((report) => (report.kind === kind ? report.text : '')).join('')

/** Returns what people should know of a report, as sentences. */
function describeReport(report: StoredReport): string[] {
  switch (report.kind) {
    case 'started': {
      const how = report.is_resumed ? ' It went on with its earlier session.' : ''
      return [`The program started, version ${report.version}.${how}`]
    }
    case 'tool':
      return report.is_builtin && report.status !== 'running'
        ? [`Its own tool: ${report.title} (${report.status}).`]
        : []
    case 'notice':
      return report.text === '' ? [] : [report.text]
    case 'ended':
      return [
        ...(report.end === 'end_turn'
          ? []
          : [`The program ended: ${report.end.replaceAll('_', ' ')}.`]),
        ...(report.detail === null ? [] : [report.detail]),
      ]
    default:
      return []
  }
}

/** What the loop made of the events of a run. */
interface Replay {
  /** The state after the last event. */
  state: LoopState
  /** When each tool call was started, by call id. */
  since: Map<string, number>
}

/** Runs the loop again over the events of a run, which are all that its decisions depend on. */
export function replayLoop(events: LoopEvent[]): Replay {
  const since = new Map<string, number>()
  // effect ids continue across activations of an agent; the first outcome belongs to the first
  // effect
  const first = events.find((event) => 'effectId' in event)
  const nextEffectId = first && 'effectId' in first ? first.effectId : initialState.nextEffectId
  let state: LoopState = { ...initialState, nextEffectId }
  for (const event of events) {
    const next = step(state, event)
    state = next.state
    for (const effect of next.effects) {
      if (effect.type === 'call_tool') since.set(effect.callId, event.at)
    }
  }
  return { state, since }
}

/**
 * Returns how much of its plan a run has done, as a sentence for a partial answer; null for other
 * answers and without a plan.
 */
export const describeProgress = (ending: Ending, events: LoopEvent[]): string | null =>
  ending.reply === 'partial' ? formatPlanProgress(foldPlan(toRunLog(events, null))) : null
