import type { TraceStep, TraceTool } from '../contract'
import { CallRegister } from '../loop/admit-calls'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import { cut, excerptChars } from './cut'

/** The steps of an activation with the tools each asked for, from its journal. */
export function collectSteps(events: LoopEvent[]): TraceStep[] {
  const steps: TraceStep[] = []
  /** Each call under the id it ran with, and the step it belongs to. */
  const asked = new Map<string, { arguments: string; step: TraceStep }>()
  const register = new CallRegister()
  let retries = 0
  for (const event of events) {
    if (event.type === 'model_failed') retries++
    if (event.type === 'model_answered') {
      const step = describeStep(event, steps.length + 1, retries)
      steps.push(step)
      retries = 0
      for (const call of register.admit(event.answer)) {
        asked.set(call.callId, { arguments: call.arguments, step })
      }
    }
    if (event.type === 'tool_returned') {
      const call = asked.get(event.callId)
      const step = call?.step ?? steps.at(-1)
      step?.tools.push(describeTool(event, call?.arguments ?? ''))
    }
  }
  return steps
}

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
    text: cut(answer.text, excerptChars.text),
    reasoning: cut(answer.reasoning, excerptChars.text),
    hooks: hooks ?? [],
    tools: [],
  }
}

function describeTool(event: LoopEventOf<'tool_returned'>, asked: string): TraceTool {
  return {
    callId: event.callId,
    name: event.name,
    grant: typeof event.audit?.grant === 'string' ? event.audit.grant : null,
    arguments: cut(asked, excerptChars.tool),
    result: cut(event.text, excerptChars.tool),
    isError: event.isError,
    startedAt: event.startedAt,
    durationMs: event.durationMs,
    resultBytes: event.resultBytes,
    hooks: event.hooks ?? [],
  }
}
