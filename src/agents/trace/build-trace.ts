import type { ActivationId } from '../../ids'
import type { Trace, TraceStep, TraceTool } from '../contract'
import { toRuntimeEvents } from '../live/runtime-events'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import type { Message } from '../loop/message'
import { foldPlan } from '../loop/plan'
import type { Ending } from '../loop/state'
import { describeNote } from './describe-note'

const promptExcerptChars = 1_200
const textExcerptChars = 8_000
const toolExcerptChars = 4_000
/** Steps beyond are summed up in a note, so that a trace stays far below what a row may hold. */
const stepsMax = 60

/**
 * What a person sees of an activation: why it did what, what it cost, where the time went (L43).
 * Made from the journal alone, so a running, a finished and a resumed activation look alike.
 */
export function buildTrace(
  events: LoopEvent[],
  ending: Ending | null,
  finishedAt: number | null,
): Trace {
  const woken = events.find((event) => event.type === 'woken')
  const facts = events.find((event) => event.type === 'loaded')?.facts
  const steps = collectSteps(events)
  const shown = steps.slice(0, stepsMax)
  const hidden = steps.length - shown.length
  return {
    version: 1,
    activationId: woken?.activationId ?? ('' as ActivationId),
    agent: facts?.agentName ?? '',
    model: facts?.model.id ?? '',
    startedAt: woken?.at ?? 0,
    finishedAt,
    outcome: ending?.outcome ?? null,
    error: ending?.error ?? null,
    prompt: (facts?.prompt ?? []).map(excerptMessage),
    steps: shown,
    notes: [
      ...(facts?.model.substitutedFor
        ? [
            {
              at: woken?.at ?? 0,
              text: `No key for ${facts.model.substitutedFor}: the built-in offline model answered.`,
            },
          ]
        : []),
      ...collectNotes(events),
      ...(hidden > 0 ? [{ at: finishedAt ?? 0, text: `${hidden} more steps are not shown.` }] : []),
    ],
    plan: foldPlan(events),
    events: toRuntimeEvents(events, ending),
  }
}

const cut = (text: string, chars: number) =>
  text.length <= chars
    ? text
    : `${text.slice(0, chars).toWellFormed()} [... ${text.length - chars} more characters]`

function excerptMessage(message: Message): Trace['prompt'][number] {
  const text = 'text' in message ? message.text : ''
  return { role: message.role, excerpt: cut(text, promptExcerptChars), chars: text.length }
}

function collectSteps(events: LoopEvent[]): TraceStep[] {
  const steps: TraceStep[] = []
  let retries = 0
  for (const event of events) {
    if (event.type === 'model_failed') retries++
    if (event.type === 'model_answered') {
      steps.push(describeStep(event, steps.length + 1, retries))
      retries = 0
    }
    if (event.type === 'tool_returned') steps.at(-1)?.tools.push(describeTool(event, events))
  }
  return steps
}

function describeStep(
  { answer, charge, startedAt, at }: LoopEventOf<'model_answered'>,
  step: number,
  retries: number,
): TraceStep {
  return {
    step,
    startedAt,
    modelMs: at - startedAt,
    retries,
    inputTokens: charge.inputTokens,
    cachedTokens: charge.cachedTokens,
    outputTokens: charge.outputTokens,
    costMicrousd: charge.microusd,
    isPriced: charge.isPriced,
    isEstimated: charge.isEstimated,
    finishReason: answer.finish,
    text: cut(answer.text, textExcerptChars),
    reasoning: cut(answer.reasoning, textExcerptChars),
    tools: [],
  }
}

function describeTool(event: LoopEventOf<'tool_returned'>, events: LoopEvent[]): TraceTool {
  const answered = events.findLast(
    (each) =>
      each.type === 'model_answered' &&
      each.answer.calls.some(({ callId }) => callId === event.callId),
  )
  const call =
    answered?.type === 'model_answered'
      ? answered.answer.calls.find(({ callId }) => callId === event.callId)
      : undefined
  return {
    callId: event.callId,
    name: event.name,
    grant: typeof event.audit?.grant === 'string' ? event.audit.grant : null,
    arguments: cut(call?.arguments ?? '', toolExcerptChars),
    result: cut(event.text, toolExcerptChars),
    isError: event.isError,
    startedAt: event.startedAt,
    durationMs: event.durationMs,
    resultBytes: event.resultBytes,
  }
}

function collectNotes(events: LoopEvent[]): Trace['notes'] {
  return events.flatMap((event) => {
    const text = describeNote(event)
    return text === null ? [] : [{ at: event.at, text }]
  })
}
