import type { TraceStep, TraceTool } from '../contract/agents'
import { CallRegister } from '../loop/admit-calls'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import type { ToolRequest } from '../loop/message'
import { excerptChars, truncate } from '../run/excerpt'
import { findStoppedEffects, isStopEvent } from '../run/stopped-effects'

/** Returns the steps of an activation with the tool calls of each, from its journal. */
export function collectSteps(events: LoopEvent[]): TraceStep[] {
  const steps: TraceStep[] = []
  /** Each call by the id it ran with, and the step it belongs to. */
  const requested = new Map<string, RequestedCall>()
  const register = new CallRegister()
  let retries = 0
  for (const [index, event] of events.entries()) {
    if (event.type === 'model_failed') retries++
    if (event.type === 'model_answered') {
      const step = describeStep(event, steps.length + 1, retries)
      steps.push(step)
      retries = 0
      addRequestedCalls(register.admit(event.answer), step, requested)
    }
    if (event.type === 'tool_returned') {
      const call = requested.get(event.callId)
      const step = call?.step ?? steps.at(-1)
      step?.tools.push(describeTool(event, call?.arguments ?? ''))
    }
    if (isStopEvent(event)) addStoppedCalls(events, index, requested)
  }
  return steps
}

function addRequestedCalls(
  calls: ToolRequest[],
  step: TraceStep,
  requested: Map<string, RequestedCall>,
): void {
  for (const { callId, name, arguments: args } of calls) {
    requested.set(callId, { name, arguments: args, step })
  }
}

interface RequestedCall {
  name: string
  arguments: string
  step: TraceStep
}

/** Adds tool calls that were stopped, which have no outcome of their own in the journal. */
function addStoppedCalls(
  events: LoopEvent[],
  index: number,
  requested: ReadonlyMap<string, RequestedCall>,
): void {
  const event = events[index]
  if (!event) return
  const { pending, since } = findStoppedEffects(events, index)
  for (const effect of pending) {
    const call = effect.type === 'call_tool' ? requested.get(effect.callId) : undefined
    if (effect.type !== 'call_tool' || !call) continue
    const from = since.get(effect.callId) ?? event.at
    call.step.tools.push(describeStopped(effect.callId, call, from, event))
  }
}

/** Returns a tool call that a person or the time limit stopped. */
const describeStopped = (
  callId: string,
  { name, arguments: args }: RequestedCall,
  startedAt: number,
  { at, type }: LoopEvent,
): TraceTool => ({
  callId,
  name,
  grant: null,
  arguments: truncate(args, excerptChars.tool),
  result: type === 'time_ran_out' ? 'Error: timed out.' : 'Error: operation cancelled by user.',
  isError: true,
  startedAt,
  durationMs: at - startedAt,
  resultBytes: 0,
  hooks: [],
})

function describeStep(
  { answer, charge, startedAt, input, hooks }: LoopEventOf<'model_answered'>,
  step: number,
  retries: number,
): TraceStep {
  return {
    step,
    startedAt,
    modelMs: charge.durationMs,
    retries,
    input: input ?? null,
    inputTokens: charge.inputTokens,
    cachedTokens: charge.cachedTokens,
    outputTokens: charge.outputTokens,
    reasoningTokens: charge.reasoningTokens,
    costMicrousd: charge.microusd,
    isPriced: charge.isPriced,
    isEstimated: charge.isEstimated,
    finishReason: answer.finish,
    text: truncate(answer.text, excerptChars.text),
    reasoning: truncate(answer.reasoning, excerptChars.text),
    hooks: hooks ?? [],
    tools: [],
  }
}

function describeTool(event: LoopEventOf<'tool_returned'>, requested: string): TraceTool {
  return {
    callId: event.callId,
    name: event.name,
    grant: typeof event.audit?.grant === 'string' ? event.audit.grant : null,
    arguments: truncate(event.arguments ?? requested, excerptChars.tool),
    result: truncate(event.text, excerptChars.tool),
    isError: event.isError,
    startedAt: event.startedAt,
    durationMs: event.durationMs,
    resultBytes: event.resultBytes,
    hooks: event.hooks ?? [],
  }
}
