import { streamLimits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import type { ActivationId } from '../../shared/ids'
import type { RuntimeEvent, RuntimeEventBody } from '../contract/agents'
import { PlanFold } from './plan'
import type { ClosedCall, RunEvent, RunEventOf, RunLog } from './run-event'
import { formatNote, getProviderQuote } from './waterfall'

/**
 * Returns the events of a run that clients receive. The result depends on the log alone, so an event
 * has the same number for every client, before and after a crash; a longer log only appends events.
 */
export function toRuntimeEvents({ events }: Pick<RunLog, 'events'>): RuntimeEvent[] {
  const fold = new LiveFold()
  for (const event of events) fold.add(event)
  return fold.events
}

/** Builds the events that clients receive, event by event. */
class LiveFold {
  readonly events: RuntimeEvent[] = []
  readonly #plan = new PlanFold()
  /** Names of calls without a result, by id. */
  readonly #open = new Map<string, string>()
  #activationId = '' as ActivationId
  #at = Number.NaN
  #time = ''
  #charsLeft: number = streamLimits.eventCharsMax

  add(event: RunEvent): void {
    const { at } = event
    this.#warn(event)
    switch (event.type) {
      case 'woken':
        this.#wake(event)
        break
      case 'loaded':
        this.#put(at, { kind: 'task', type: 'started', agent: event.agent, model: event.model.id })
        break
      case 'model_answered':
        this.#putAnswer(event)
        break
      case 'compacted':
        this.#putCompaction(event)
        break
      case 'program_called':
        this.#putCall(at, event)
        break
      case 'tool_returned':
        this.#putResult(at, event.callId, event)
        break
      case 'parked':
        if (event.isLost) break
        this.#put(at, { kind: 'task', type: 'parked', tools: [...this.#open.values()] })
        break
      case 'steered':
        this.#putSteering(event)
        break
      case 'resumed':
        this.#putResumed(event)
    }
    if ('closed' in event) this.#failCalls(at, event.closed)
    if (this.#plan.add(event) && !this.#isEmptyEnd(event)) this.#putPlan(event)
    if (event.type === 'ended') this.#putResponse(event)
  }

  /** Whether a run without a plan has ended: the response says so. */
  #isEmptyEnd({ type }: RunEvent): boolean {
    return type === 'ended' && this.#plan.plan.steps.length === 0
  }

  #wake({ at, activationId }: RunEventOf<'woken'>): void {
    if (this.#activationId !== '') return
    this.#activationId = activationId
    this.#put(at, { kind: 'task', type: 'woken' })
  }

  #putResumed({ at, decisions }: RunEventOf<'resumed'>): void {
    this.#put(at, {
      kind: 'task',
      type: 'resumed',
      decisions: decisions.map(({ callId, decision }) => ({ call_id: callId, decision })),
    })
  }

  #putSteering({ at, items }: RunEventOf<'steered'>): void {
    for (const { author, isModeration, text } of items) {
      const shown = { from: author, is_moderation: isModeration, text: this.#truncate(text) }
      this.#put(at, { kind: 'task', type: 'steered', ...shown })
    }
  }

  /** Adds a warning. Failures after the outcome was decided belong to the commit and are left out. */
  #warn(event: RunEvent): void {
    if (event.type === 'commit_failed' || (event.type === 'interrupted' && event.isEnded)) return
    // what a program wrote is private, and a note of it would be an event for some watchers only
    const isSilent = event.type === 'steered' || event.type === 'program_reported'
    const text = isSilent ? null : formatNote(event)
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

  #putAnswer({ at, step, finish, text, reasoning, ...event }: RunEventOf<'model_answered'>): void {
    this.#put(at, {
      kind: 'model',
      type: 'step-finish',
      step,
      finish_reason: finish,
      text: this.#truncate(text),
      reasoning: this.#truncate(reasoning),
      model_ms: at - event.startedAt,
    })
    const { charge } = event
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
    for (const { refusal, ...call } of event.calls) {
      this.#putCall(at, call)
      if (refusal !== null) this.#fail(at, call.callId, refusal)
    }
  }

  #putCall(
    at: number,
    { callId, name, arguments: json }: Omit<RunEventOf<'program_called'>, 'at' | 'type'>,
  ): void {
    const shown = { call_id: callId, name, arguments: this.#truncate(json) }
    this.#put(at, { kind: 'tool', type: 'tool-call', ...shown })
    this.#open.set(callId, name)
  }

  #putCompaction({ at, replaced, tokensBefore, tokens }: RunEventOf<'compacted'>): void {
    this.#put(at, {
      kind: 'model',
      type: 'compacted',
      messages: replaced,
      tokens_before: tokensBefore,
      tokens,
    })
  }

  #failCalls(at: number, closed: readonly ClosedCall[]): void {
    for (const { callId, text } of closed) this.#fail(at, callId, text)
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

  /** Adds the plan; with the agent's own steps when it revised them or the run settled them. */
  #putPlan(event: RunEvent): void {
    const { goal, progress, steps } = this.#plan.plan
    const own = steps.flatMap(({ callId, title, status }) =>
      callId === null ? [{ title: this.#truncate(title), status }] : [],
    )
    const isRevised = 'plan' in event && event.plan !== undefined
    const isSettled = event.type === 'ended' && own.length > 0
    this.#put(event.at, {
      kind: 'plan',
      type: 'plan',
      goal: goal ? this.#truncate(goal) : null,
      progress,
      ...(isRevised || isSettled ? { steps: own } : {}),
    })
  }

  #putResponse({ at, outcome, error }: RunEventOf<'ended'>): void {
    const shown = error && { ...error, message: this.#truncate(error.message) }
    this.#put(at, { kind: 'task', type: 'response', outcome, error: shown })
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
    const shown = text.length <= chars ? text : `${cutText(text, chars)}…`
    this.#charsLeft = Math.max(0, this.#charsLeft - shown.length)
    return shown
  }
}
