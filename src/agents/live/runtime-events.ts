import { streamLimits } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import type { RuntimeEvent, RuntimeEventBody } from '../contract/agents'
import { CallRegister } from '../loop/admit-calls'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import { PlanFold, planToolName } from '../loop/plan'
import type { Ending } from '../loop/state'
import { formatNote, getProviderQuote } from '../trace/format-note'

/**
 * Converts the journal of an activation to runtime events. The result depends on the journal alone,
 * so an event has the same number and text for every watcher, before and after a crash; a longer
 * journal only appends events.
 */
export function toRuntimeEvents(events: LoopEvent[], ending: Ending | null): RuntimeEvent[] {
  const builder = new RuntimeEventBuilder()
  for (const event of events) builder.add(event)
  if (ending) builder.end(ending, findEnd(events))
  return builder.events
}

/**
 * Returns the event without private content: the model's text and reasoning, tool arguments and
 * results, the texts of the agent's plan, and the provider's messages.
 */
export function hidePrivateContent(event: RuntimeEvent): RuntimeEvent {
  switch (event.type) {
    case 'step-finish':
      return { ...event, text: '', reasoning: '' }
    case 'tool-call':
      return { ...event, arguments: '' }
    case 'tool-result':
      return { ...event, text: '' }
    case 'warning':
      return event.quote === undefined ? event : { ...event, quote: '' }
    case 'plan': {
      const steps = event.steps?.map((step) => ({ ...step, title: '' }))
      return { ...event, goal: null, ...(steps ? { steps } : {}) }
    }
    default:
      return event
  }
}

/** Returns the time at which the outcome was decided; later events are about the commit. */
function findEnd(events: LoopEvent[]): number {
  const firstFailure = events.findIndex(({ type }) => type === 'commit_failed')
  const before = firstFailure < 0 ? events : events.slice(0, firstFailure)
  const cause = before.findLast(
    (event) =>
      event.type !== 'woken' &&
      event.type !== 'committed' &&
      !(event.type === 'interrupted' && event.isEnded),
  )
  return cause?.at ?? 0
}

const cancelled = 'Error: operation cancelled by user.'

/** Builds runtime events from a journal, event by event. */
class RuntimeEventBuilder {
  readonly events: RuntimeEvent[] = []
  readonly #plan = new PlanFold()
  readonly #register = new CallRegister()
  /** Names of calls without a result, by id. */
  readonly #open = new Map<string, string>()
  #activationId = '' as ActivationId
  #step = 0
  #at = Number.NaN
  #time = ''
  #charsLeft: number = streamLimits.eventCharsMax

  add(event: LoopEvent): void {
    if (event.type === 'woken' && this.#activationId === '') {
      this.#activationId = event.activationId
      this.#put(event.at, { kind: 'task', type: 'woken' })
    }
    this.#addByType(event)
    if (this.#plan.add(event)) this.#putPlan(event)
  }

  end({ outcome, error }: Ending, at: number): void {
    // The same text as in the model's prompt.
    this.#failAll(at, 'Error: this call was not run.')
    const shown = error && { code: error.code, message: this.#truncate(error.message) }
    this.#put(at, { kind: 'task', type: 'response', outcome, error: shown })
  }

  #addByType(event: LoopEvent): void {
    const { at } = event
    this.#warn(event)
    switch (event.type) {
      case 'loaded': {
        const { agentName: agent, model } = event.facts
        this.#put(at, { kind: 'task', type: 'started', agent, model: model.id })
        break
      }
      case 'model_answered':
        this.#putAnswer(event)
        break
      case 'compacted':
        this.#putCompaction(event)
        break
      case 'tool_returned':
        this.#putResult(at, event.callId, event)
        break
      case 'parked':
      case 'resumed':
        this.#addPause(event)
        break
      default:
        this.#failLostCalls(event)
    }
  }

  #addPause(event: LoopEventOf<'parked' | 'resumed'>): void {
    const { at } = event
    if (event.type === 'parked') {
      if (event.kind === 'parked') {
        this.#put(at, { kind: 'task', type: 'parked', tools: [...this.#open.values()] })
      }
      return
    }
    const decisions = event.decisions.map(({ callId, decision }) => ({ call_id: callId, decision }))
    this.#put(at, { kind: 'task', type: 'resumed', decisions })
    for (const { callId, decision } of event.decisions) {
      if (decision !== 'approved') this.#fail(at, callId, `Error: the approval was ${decision}.`)
    }
    if (event.isCancelled) this.#failAll(at, cancelled)
  }

  /** Fails calls whose outcome will never be known. */
  #failLostCalls(event: LoopEvent): void {
    const { at } = event
    if (event.type === 'cancel_requested') this.#failAll(at, cancelled)
    if (event.type === 'time_ran_out') this.#failAll(at, 'Error: timed out.')
    if (event.type !== 'interrupted') return
    for (const callId of event.unknownCallIds) {
      this.#fail(at, callId, 'Error: the outcome is unknown.')
    }
  }

  /** Adds a warning. Failures after the outcome was decided belong to the commit and are left out. */
  #warn(event: LoopEvent): void {
    if (event.type === 'commit_failed' || (event.type === 'interrupted' && event.isEnded)) return
    const text = formatNote(event)
    if (text === null) return
    // an answer counts as an error only when it came near the end of the model's window
    const code = event.type === 'model_answered' ? 'window_nearly_full' : event.type
    const quote = getProviderQuote(event)
    this.#put(event.at, {
      kind: 'warning',
      type: 'warning',
      code,
      text: this.#truncate(text),
      ...(quote !== null && { quote: this.#truncate(quote) }),
    })
  }

  #putAnswer({ at, answer, charge, startedAt }: LoopEventOf<'model_answered'>): void {
    const step = ++this.#step
    this.#put(at, {
      kind: 'model',
      type: 'step-finish',
      step,
      finish_reason: answer.finish,
      text: this.#truncate(answer.text),
      reasoning: this.#truncate(answer.reasoning),
      model_ms: at - startedAt,
    })
    this.#put(at, {
      kind: 'metrics',
      type: 'usage',
      step,
      input_tokens: charge.inputTokens,
      cached_tokens: charge.cachedTokens,
      output_tokens: charge.outputTokens,
      cost_microusd: charge.microusd,
      is_priced: charge.isPriced,
      is_estimated: charge.isEstimated,
    })
    const calls = this.#register.admit(answer)
    for (const { callId, name, arguments: json, refusal } of calls) {
      const shown = { call_id: callId, name, arguments: this.#truncate(json) }
      this.#put(at, { kind: 'tool', type: 'tool-call', ...shown })
      this.#open.set(callId, name)
      if (refusal) this.#fail(at, callId, refusal)
    }
  }

  #putCompaction({ at, replaced, tokensBefore, tokens }: LoopEventOf<'compacted'>): void {
    this.#put(at, {
      kind: 'model',
      type: 'compacted',
      messages: replaced,
      tokens_before: tokensBefore,
      tokens,
    })
  }

  #failAll(at: number, text: string): void {
    for (const callId of [...this.#open.keys()]) this.#fail(at, callId, text)
  }

  #fail(at: number, callId: string, text: string): void {
    this.#putResult(at, callId, { text, isError: true, durationMs: 0 })
  }

  /** Adds a call's result. Every call has one result: later ones are ignored. */
  #putResult(
    at: number,
    callId: string,
    { text, isError, durationMs }: { text: string; isError: boolean; durationMs: number },
  ): void {
    const name = this.#open.get(callId)
    if (name === undefined) return
    this.#open.delete(callId)
    this.#put(at, {
      kind: 'tool',
      type: 'tool-result',
      call_id: callId,
      name,
      is_error: isError,
      text: this.#truncate(text),
      duration_ms: durationMs,
    })
  }

  #putPlan(event: LoopEvent): void {
    const { goal, progress, steps } = this.#plan.plan
    const isRevised = event.type === 'tool_returned' && event.name === planToolName
    const own = steps.flatMap(({ callId, title, status }) =>
      callId === null ? [{ title: this.#truncate(title), status }] : [],
    )
    this.#put(event.at, {
      kind: 'plan',
      type: 'plan',
      goal: goal && this.#truncate(goal),
      progress,
      ...(isRevised ? { steps: own } : {}),
    })
  }

  #put(at: number, body: RuntimeEventBody): void {
    this.events.push({
      seq: this.events.length + 1,
      activation_id: this.#activationId,
      at: this.#toTime(at),
      ...body,
    })
  }

  /** Formats a time, cached because one decision yields several events. */
  #toTime(at: number): string {
    if (at !== this.#at) {
      this.#at = at
      this.#time = new Date(at).toISOString()
    }
    return this.#time
  }

  /** Truncates a text to the excerpt limit and to what is left of the total for all events. */
  #truncate(text: string): string {
    const chars = Math.min(streamLimits.excerptChars, this.#charsLeft)
    const shown = text.length <= chars ? text : `${text.slice(0, chars).toWellFormed()}…`
    this.#charsLeft = Math.max(0, this.#charsLeft - shown.length)
    return shown
  }
}
