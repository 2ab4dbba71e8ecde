import type { TraceStep, TraceTool } from '../contract/agents'
import { truncate } from '../text/truncate'
import { excerptChars } from './excerpt'
import type { ClosedCall, RequestedCall, RunEvent, RunEventOf } from './run-event'

/** Collects the steps of a run with the tool calls of each, in the order they were requested. */
export class StepFold {
  readonly steps: TraceStep[] = []
  /** Each call by the id it ran with, with its step and its place in the step. */
  readonly #requested = new Map<string, { call: RequestedCall; step: TraceStep; place: number }>()
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
