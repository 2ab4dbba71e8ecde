import { streamLimits } from '../../config'
import type { ActivationId } from '../../ids'
import type { RuntimeEvent, RuntimeEventBody } from '../contract'
import { CallRegister } from '../loop/admit-calls'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import { PlanFold, planTool } from '../loop/plan'
import type { Ending } from '../loop/state'
import { describeNote, readQuote } from '../trace/describe-note'

/**
 * What happened in an activation, for people and programs that watch (L42). Made from the journal
 * alone and in its order, so whoever asks and whenever, before or after a crash, an event has the
 * same number and the same words; a longer journal only adds to the end.
 */
export function toRuntimeEvents(events: LoopEvent[], ending: Ending | null): RuntimeEvent[] {
  const log = new RuntimeLog()
  for (const event of events) log.add(event)
  if (ending) log.end(ending, findEnd(events))
  return log.events
}

/**
 * What somebody gets who may not see inside (M9): neither what the model wrote and thought, nor what
 * tools were told and said, nor the words of the agent's plan, nor what a provider said.
 */
export function hideInside(event: RuntimeEvent): RuntimeEvent {
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

/** The moment the end was decided. What comes later is about the commit. */
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

/** Reads a journal event by event. */
class RuntimeLog {
  readonly events: RuntimeEvent[] = []
  readonly #plan = new PlanFold()
  readonly #register = new CallRegister()
  /** Calls without a result, with their names. */
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
    this.#tell(event)
    if (this.#plan.add(event)) this.#putPlan(event)
  }

  end({ outcome, error }: Ending, at: number): void {
    // as the model would have been told
    this.#failAll(at, 'Error: this call was not run.')
    const told = error && { code: error.code, message: this.#cut(error.message) }
    this.#put(at, { kind: 'task', type: 'response', outcome, error: told })
  }

  #tell(event: LoopEvent): void {
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
        this.#tellPause(event)
        break
      default:
        this.#dropCalls(event)
    }
  }

  #tellPause(event: LoopEventOf<'parked' | 'resumed'>): void {
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

  /** Calls whose outcome will never be known. */
  #dropCalls(event: LoopEvent): void {
    const { at } = event
    if (event.type === 'cancel_requested') this.#failAll(at, cancelled)
    if (event.type === 'time_ran_out') this.#failAll(at, 'Error: time ran out.')
    if (event.type !== 'interrupted') return
    for (const callId of event.unknownCallIds) {
      this.#fail(at, callId, 'Error: the outcome is unknown.')
    }
  }

  /** Trouble after the end was decided is the commit's, and has no part in what the agent did. */
  #warn(event: LoopEvent): void {
    if (event.type === 'commit_failed' || (event.type === 'interrupted' && event.isEnded)) return
    const text = describeNote(event)
    if (text === null) return
    // an answer is trouble only when it came near the end of the model's window
    const code = event.type === 'model_answered' ? 'window_nearly_full' : event.type
    const quote = readQuote(event)
    this.#put(event.at, {
      kind: 'warning',
      type: 'warning',
      code,
      text: this.#cut(text),
      ...(quote !== null && { quote: this.#cut(quote) }),
    })
  }

  #putAnswer({ at, answer, charge, startedAt }: LoopEventOf<'model_answered'>): void {
    const step = ++this.#step
    this.#put(at, {
      kind: 'model',
      type: 'step-finish',
      step,
      finish_reason: answer.finish,
      text: this.#cut(answer.text),
      reasoning: this.#cut(answer.reasoning),
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
      const told = { call_id: callId, name, arguments: this.#cut(json) }
      this.#put(at, { kind: 'tool', type: 'tool-call', ...told })
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

  /** Every call has one result: a second one, however it comes about, is none. */
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
      text: this.#cut(text),
      duration_ms: durationMs,
    })
  }

  #putPlan(event: LoopEvent): void {
    const { goal, progress, steps } = this.#plan.plan
    const isRevised = event.type === 'tool_returned' && event.name === planTool
    const own = steps.flatMap(({ callId, title, status }) =>
      callId === null ? [{ title: this.#cut(title), status }] : [],
    )
    this.#put(event.at, {
      kind: 'plan',
      type: 'plan',
      goal: goal && this.#cut(goal),
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

  /** Several events come of one decision. */
  #toTime(at: number): string {
    if (at !== this.#at) {
      this.#at = at
      this.#time = new Date(at).toISOString()
    }
    return this.#time
  }

  /** The beginning of a text. Words are limited in all too, in order, so that every reader gets the same. */
  #cut(text: string): string {
    const chars = Math.min(streamLimits.excerptChars, this.#charsLeft)
    const shown = text.length <= chars ? text : `${text.slice(0, chars).toWellFormed()}…`
    this.#charsLeft = Math.max(0, this.#charsLeft - shown.length)
    return shown
  }
}
