import type { ActivationId } from '../../shared/ids'
import type {
  TraceCompaction,
  TracePark,
  TraceStep,
  TraceTime,
  TraceTool,
  Waterfall,
} from '../contract/agents'
import type { AdmittedCall } from '../loop/admit-calls'
import type { Charge } from '../loop/event'
import type { Effect } from '../loop/state'
import { truncate } from '../text/truncate'
import { sumSpend } from './charges'
import type { ClosedCall, RunEvent, RunEventOf, RunLog } from './run-event'

/**
 * Returns the waterfall of a run: what it did and why, step by step, what it cost, and where the time
 * went. Made from the log alone, so running, finished and resumed runs look alike.
 */
export function toWaterfall({ events }: Pick<RunLog, 'events'>): Waterfall {
  const woken = findEvent(events, 'woken')
  const loaded = findEvent(events, 'loaded')
  const ended = findEvent(events, 'ended')
  const startedAt = woken?.at ?? 0
  const finishedAt = ended?.finishedAt ?? null
  const steps = new StepFold()
  const time = new TimeFold()
  for (const event of events) steps.add(event, time.add(event))
  const lastAt = events.findLast(({ type }) => type !== 'ended')?.at
  return {
    activationId: woken?.activationId ?? ('' as ActivationId),
    ...describeRun(loaded),
    startedAt,
    finishedAt,
    outcome: ended?.outcome ?? null,
    error: ended?.error ?? null,
    prompt: (loaded?.prompt ?? []).map(excerptMessage),
    steps: steps.steps,
    spent: sumSpend(events),
    notes: collectNotes(events, startedAt),
    compactions: collectCompactions(events),
    parks: collectParks(events),
    changes: events.flatMap((event) =>
      event.type === 'program_reported' && event.changes
        ? [{ attempt: event.attempt, ...event.changes }]
        : [],
    ),
    time: time.finish(finishedAt ?? lastAt ?? 0),
  }
}

function findEvent<Type extends RunEvent['type']>(
  events: RunEvent[],
  type: Type,
): RunEventOf<Type> | undefined {
  return events.find((event): event is RunEventOf<Type> => event.type === type)
}

/** Returns agent, model, task and session; empty before LOAD. */
const describeRun = (loaded: RunEventOf<'loaded'> | undefined) => ({
  agent: loaded?.agent ?? '',
  model: loaded?.model.id ?? '',
  task: loaded?.task ?? '',
  requesters: loaded?.requesters ?? [],
  session: loaded?.session ?? null,
  definitionVersion: loaded?.definition.version ?? 0,
})

function excerptMessage(
  message: RunEventOf<'loaded'>['prompt'][number],
): Waterfall['prompt'][number] {
  const text = 'text' in message ? message.text : ''
  return { role: message.role, excerpt: truncate(text, excerptChars.prompt), chars: text.length }
}

/** Collects notes on the prompt, then on problems. */
const collectNotes = (events: RunEvent[], startedAt: number): Waterfall['notes'] => [
  ...events.flatMap((event) =>
    event.type === 'loaded' ? describePrompt(event).map((text) => ({ at: startedAt, text })) : [],
  ),
  ...events.flatMap((event) => {
    const text = event.type === 'ended' ? event.warning : formatNote(event)
    const at = event.type === 'ended' ? (event.finishedAt ?? startedAt) : event.at
    const quote = getProviderQuote(event)
    return text === null ? [] : [{ at, text, ...(quote !== null && { quote }) }]
  }),
]

const describePrompt = ({ model, notes }: RunEventOf<'loaded'>): string[] => [
  ...(model.substitutedFor
    ? [`No key for ${model.substitutedFor}: the built-in offline model answered.`]
    : []),
  ...notes,
]

/** Collects the steps of a run with the tool calls of each, in the order they were requested. */
class StepFold {
  readonly steps: TraceStep[] = []
  /** Each call by the id it ran with, with its step and its place in the step. */
  readonly #requested = new Map<string, { call: AdmittedCall; step: TraceStep; place: number }>()
  #retries = 0

  /** @param ms how long the call of the model took that the event ends */
  add(event: RunEvent, ms: number): void {
    switch (event.type) {
      case 'model_failed':
        this.#retries++
        break
      case 'model_answered':
        this.#addStep(event, ms)
        break
      case 'tool_returned':
        this.#addTool(describeTool(event))
        break
      case 'program_reported':
        this.#addText(event)
        break
      case 'time_ran_out':
      case 'cancel_requested':
        for (const closed of event.closed) this.#addStopped(closed, event.at)
    }
  }

  #addStep(event: RunEventOf<'model_answered'>, modelMs: number): void {
    const step = describeStep(event, modelMs, this.#retries)
    this.steps.push(step)
    this.#retries = 0
    for (const [place, call] of event.calls.entries()) {
      this.#requested.set(call.callId, { call, step, place })
    }
  }

  /** Adds what a program wrote to the step in which it wrote it. */
  #addText({ text, reasoning }: RunEventOf<'program_reported'>): void {
    const step = this.steps.at(-1)
    if (!step) return
    step.text = truncate(step.text + text, excerptChars.text)
    step.reasoning = truncate(step.reasoning + reasoning, excerptChars.text)
  }

  /** Adds a tool call that a person or the time limit stopped. */
  #addStopped({ callId, name, text, startedAt }: ClosedCall, at: number): void {
    if (startedAt === null) return
    const args = this.#requested.get(callId)?.call.arguments ?? ''
    this.#addTool({
      callId,
      name,
      grant: null,
      arguments: truncate(args, excerptChars.tool),
      result: text,
      isError: true,
      startedAt,
      durationMs: at - startedAt,
      resultBytes: 0,
      hooks: [],
    })
  }

  #addTool(tool: TraceTool): void {
    const step = this.#requested.get(tool.callId)?.step ?? this.steps.at(-1)
    if (!step) return
    const place = this.#findPlace(tool)
    const next = step.tools.findIndex((other) => this.#findPlace(other) > place)
    step.tools.splice(next < 0 ? step.tools.length : next, 0, tool)
  }

  #findPlace({ callId }: TraceTool): number {
    return this.#requested.get(callId)?.place ?? Number.POSITIVE_INFINITY
  }
}

const describeStep = (
  { step, startedAt, input, charge, finish, text, reasoning, hooks }: RunEventOf<'model_answered'>,
  modelMs: number,
  retries: number,
): TraceStep => ({
  step,
  startedAt,
  modelMs,
  retries,
  input,
  inputTokens: charge.inputTokens,
  cachedTokens: charge.cachedTokens,
  outputTokens: charge.outputTokens,
  reasoningTokens: charge.reasoningTokens,
  costMicrousd: charge.microusd,
  isPriced: charge.isPriced,
  isEstimated: charge.isEstimated,
  finishReason: finish,
  text: truncate(text, excerptChars.text),
  reasoning: truncate(reasoning, excerptChars.text),
  hooks,
  tools: [],
})

const describeTool = (event: RunEventOf<'tool_returned'>): TraceTool => ({
  callId: event.callId,
  name: event.name,
  grant: event.grant,
  arguments: truncate(event.arguments, excerptChars.tool),
  result: truncate(event.text, excerptChars.tool),
  isError: event.isError,
  startedAt: event.startedAt,
  durationMs: event.durationMs,
  resultBytes: event.resultBytes,
  hooks: event.hooks,
})

type Part = Exclude<keyof TraceTime, 'totalMs'>

const parts: Partial<Record<RunEvent['type'], Part>> = {
  loaded: 'loadingMs',
  load_failed: 'loadingMs',
  load_waited: 'loadingMs',
  model_answered: 'modelMs',
  model_failed: 'lostMs',
  tool_returned: 'toolsMs',
  tool_parked: 'toolsMs',
  compacted: 'compactionMs',
  resumed: 'parkedMs',
  program_call_decided: 'parkedMs',
  approval_overdue: 'parkedMs',
  slept: 'waitingMs',
}

const partsOfEffects: Partial<Record<Effect['type'], Part>> = {
  load: 'loadingMs',
  call_model: 'lostMs',
  call_tool: 'toolsMs',
  compact: 'compactionMs',
  sleep: 'waitingMs',
}

/**
 * Measures where the time of a run went, event by event. The time since the previous event belongs
 * to what the event ends, so parallel calls count once and the parts add up to the total.
 */
class TimeFold {
  readonly #spent: Record<Part, number> = {
    loadingMs: 0,
    modelMs: 0,
    lostMs: 0,
    toolsMs: 0,
    hooksMs: 0,
    compactionMs: 0,
    parkedMs: 0,
    waitingMs: 0,
    otherMs: 0,
  }
  #begin: number | null = null
  #clock = 0
  /** Time of hooks after an answer that the next event has to give up. */
  #hooksAfterMs = 0

  /** Adds an event; returns the milliseconds of what it ends. */
  add(event: RunEvent): number {
    if (this.#begin === null) {
      this.#begin = event.at
      this.#clock = event.at
    }
    // a task that arrives meanwhile ends nothing, and neither does the summary of the outcome
    if (event.type === 'woken' || event.type === 'ended') return 0
    const around = this.#spend('otherMs', 'startedAt' in event ? event.startedAt : this.#clock)
    const part = findPart(event)
    const spent = this.#spend(part, event.at)
    if (event.type === 'model_answered') this.#moveHooksOfModel(event, around)
    else this.#moveHooksOfTool(event, part, around, spent)
    return spent
  }

  /** @param until when the run ended, or now */
  finish(until: number): TraceTime {
    this.#begin ??= until
    if (this.#begin === until) this.#clock = until
    this.#moveHooks('otherMs', this.#hooksAfterMs, this.#spend('otherMs', until))
    return { ...this.#spent, totalMs: this.#clock - this.#begin }
  }

  #spend(part: Part, to: number): number {
    const ms = Math.max(0, to - this.#clock)
    this.#spent[part] += ms
    this.#clock += ms
    return ms
  }

  /** Hooks around a model call run before it starts and after it ends. */
  #moveHooksOfModel({ hooks }: RunEventOf<'model_answered'>, around: number): void {
    const after = sum(hooks.filter(({ point }) => point === 'afterModelCall'))
    const before = this.#hooksAfterMs + sum(hooks) - after
    this.#hooksAfterMs = after
    this.#moveHooks('otherMs', before, around)
  }

  /** Hooks around a tool call run while the call does. */
  #moveHooksOfTool(event: RunEvent, part: Part, around: number, spent: number): void {
    const gap = part === 'otherMs' ? around + spent : around
    this.#moveHooks('otherMs', this.#hooksAfterMs, gap)
    this.#hooksAfterMs = 0
    if ('hooks' in event) this.#moveHooks(part, sum(event.hooks), spent)
  }

  /** Moves time to the hooks, at most `available`. */
  #moveHooks(part: Part, ms: number, available: number): void {
    const moved = Math.min(ms, available)
    this.#spent[part] -= moved
    this.#spent.hooksMs += moved
  }
}

const sum = (hooks: readonly { ms: number }[]): number => hooks.reduce((all, { ms }) => all + ms, 0)

function findPart(event: RunEvent): Part {
  if (event.type !== 'time_ran_out' && event.type !== 'cancel_requested') {
    return parts[event.type] ?? 'otherMs'
  }
  return (event.stopped && partsOfEffects[event.stopped]) ?? 'otherMs'
}

/** Returns every compaction of the history. */
const collectCompactions = (events: RunEvent[]): TraceCompaction[] =>
  events.flatMap((event) =>
    event.type === 'compacted'
      ? [
          {
            at: event.at,
            durationMs: event.at - event.startedAt,
            replaced: event.replaced,
            tokensBefore: event.tokensBefore,
            tokens: event.tokens,
            costMicrousd: event.charge?.microusd ?? 0,
            problem: event.problem,
          },
        ]
      : [],
  )

/** Returns every wait for approval, with the decisions. */
function collectParks(events: RunEvent[]): TracePark[] {
  const parks: TracePark[] = []
  /** Names of the calls that wait, by id: the decision about some comes in time. */
  const waiting = new Map<string, string>()
  for (const event of events) {
    if (event.type === 'tool_parked') waiting.set(event.callId, event.name)
    if (event.type === 'tool_returned') waiting.delete(event.callId)
    if (event.type === 'parked' && !event.isLost) {
      const tools = [...waiting.values()]
      parks.push({ at: event.at, resumedAt: null, tools, decisions: [] })
      waiting.clear()
    }
    const last = parks.at(-1)
    if (event.type !== 'resumed' || !last) continue
    last.resumedAt = event.at
    last.decisions = event.decisions.map(({ callId, decision, by, note }) => ({
      callId,
      decision,
      by,
      note: truncate(note, excerptChars.prompt),
    }))
  }
  return parks
}

/** Returns a note for an event that people should know about; null for others. */
export function formatNote(event: RunEvent): string | null {
  switch (event.type) {
    case 'load_waited':
      return `Waited to start: ${event.reason.replaceAll('_', ' ')}.`
    case 'load_failed':
      return `Could not load the task from the hub: ${event.message}`
    case 'model_failed':
      return `The model call failed (${event.code}): ${event.message}${formatCharge(event.charge)}`
    case 'model_refused':
      return `No further model call: ${event.reason.replaceAll('_', ' ')}.`
    case 'model_waited':
      return 'Waited: the remaining budget was reserved by running agents.'
    case 'steered':
      return event.items.map(describeSteering).join(' ') || null
    case 'interrupted':
      return `The server stopped. The run was resumed from the journal.${formatCharge(event.charge)}`
    case 'time_ran_out':
      return `The run timed out.${formatCharge(event.charge)}`
    case 'cancel_requested':
      return `The agent was asked to stop.${formatCharge(event.charge)}`
    case 'model_answered':
      return (
        [event.warning, event.charge.doubt, formatOverrun(event.charge)]
          .filter(Boolean)
          .join(' ') || null
      )
    case 'tool_returned':
      return event.allowedBy === undefined ? null : `${event.name}: ${event.allowedBy}`
    case 'compacted':
      return [event.charge?.doubt, formatOverrun(event.charge)].filter(Boolean).join(' ') || null
    case 'program_placed':
      return placeNotes[event.place]
    case 'program_reported':
      return event.notes.join(' ') || null
    case 'program_lost':
      return `The runner was lost.${event.reason === '' ? '' : ` ${event.reason}`}`
    case 'program_closed':
      return event.charge === null
        ? null
        : `${formatUncounted(event.requests)}${formatCharge(event.charge)}`
    case 'nobody_notified':
      return 'The requester was notified that no suitable runner is connected.'
    case 'park_failed':
      return 'The calls that require approval did not reach the hub and were sent again.'
    case 'commit_failed':
      return 'The result did not reach the hub and was sent again.'
    case 'omitted':
      return `${event.steps} steps in the middle are not shown.`
    default:
      return null
  }
}

const placeNotes: Record<RunEventOf<'program_placed'>['place'], string | null> = {
  asked: null,
  started: null,
  busy: 'Waited: all suitable runners are busy.',
  nobody: 'Waited: no suitable runner is connected.',
  unreachable: 'The runners could not be asked, and were asked again.',
}

const formatUncounted = (requests: number): string =>
  requests === 1
    ? 'The usage of a model request is unknown.'
    : `The usage of ${requests} model requests is unknown.`

/** Returns a sentence on a comment that joined the run, with its beginning unless the viewer may not see it. */
function describeSteering(item: RunEventOf<'steered'>['items'][number]): string {
  const { author, isModeration, text } = item
  const who = isModeration ? `moderator @${author}` : `@${author}`
  return `A comment by ${who} joined the run${text === '' ? '.' : `: ${truncate(text, 200)}`}`
}

/**
 * Returns the provider's message for a failed call, empty for a viewer who may not see it; null for
 * other events.
 */
export const getProviderQuote = (event: RunEvent): string | null =>
  event.type === 'model_failed' ? event.detail : null

/** Returns a sentence on what a call took beyond its reservation; null for none. */
function formatOverrun(charge: Charge | null): string | null {
  const overrun = charge?.overrun
  if (!overrun) return null
  const money = overrun.microusd > 0 ? ` and $${(overrun.microusd / 1_000_000).toFixed(6)}` : ''
  return `The provider counted ${overrun.tokens} tokens${money} more than were reserved. Further calls reserve more.`
}

/**
 * Returns a sentence on the charge of a call without an answer, which is in no step; empty for
 * none.
 */
function formatCharge(charge: Charge | null): string {
  if (!charge) return ''
  const { inputTokens, outputTokens, microusd, isPriced } = charge
  const money = isPriced ? `$${(microusd / 1_000_000).toFixed(6)}` : 'without a price'
  return ` A call without an answer was charged ${inputTokens} tokens in and ${outputTokens} out, ${money}.`
}

/** Characters of a text that a trace shows, before the trace is made to fit its limit. */
const excerptChars = { prompt: 1_200, text: 8_000, tool: 4_000 } as const
