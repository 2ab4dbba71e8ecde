import type { HookTime, Waterfall as Trace, TraceStep, TraceTool } from '../contract/agents'
import {
  type OtlpExport,
  type OtlpSpan,
  spanKind,
  statusCode,
  toAttributes,
  toNanos,
  toSpanId,
  toTraceId,
} from './otlp'

export interface OtlpOptions {
  /** The name of the hub. */
  hub: string
  /** Whether spans include the text of prompts, answers and tools. */
  hasContent: boolean
}

/**
 * Converts one activation to OpenTelemetry spans, by the semantic conventions for generative AI:
 * the agent run, and below it its model calls, tool calls and waits.
 */
export function toOtlp(trace: Trace, options: OtlpOptions): OtlpExport {
  const attributes = toAttributes({ 'service.name': 'rookery', 'rookery.hub': options.hub })
  const spans = [
    describeRun(trace, options),
    ...trace.steps.flatMap((step) => [
      describeCall(trace, step, options),
      ...step.tools.map((tool) => describeTool(trace, tool, options)),
    ]),
    ...describePauses(trace),
  ]
  return {
    resourceSpans: [
      { resource: { attributes }, scopeSpans: [{ scope: { name: 'rookery.agents' }, spans }] },
    ],
  }
}

const rootName = 'run'

interface SpanFacts {
  /** Unique within the activation. */
  id: string
  name: string
  kind: number
  from: number
  to: number
}

function openSpan(
  trace: Trace,
  { id, name, kind, from, to }: SpanFacts,
): Omit<OtlpSpan, 'attributes' | 'status'> {
  return {
    traceId: toTraceId(trace.activationId),
    spanId: toSpanId(trace.activationId, id),
    ...(id === rootName ? {} : { parentSpanId: toSpanId(trace.activationId, rootName) }),
    name,
    kind,
    startTimeUnixNano: toNanos(from),
    endTimeUnixNano: toNanos(Math.max(from, to)),
  }
}

function describeRun(trace: Trace, { hasContent }: OtlpOptions): OtlpSpan {
  const { agent, startedAt, finishedAt, steps, spent, error, outcome } = trace
  const hasFailed = outcome === 'failed'
  return {
    ...openSpan(trace, {
      id: rootName,
      name: `invoke_agent ${agent}`.trim(),
      kind: spanKind.internal,
      from: startedAt,
      to: finishedAt ?? startedAt + trace.time.totalMs,
    }),
    attributes: toAttributes({
      'gen_ai.operation.name': 'invoke_agent',
      ...describeModel(trace.model),
      'gen_ai.agent.name': agent,
      'gen_ai.agent.version': String(trace.definitionVersion),
      'gen_ai.conversation.id': trace.session,
      'gen_ai.usage.input_tokens': spent.inputTokens,
      'gen_ai.usage.output_tokens': spent.outputTokens,
      'gen_ai.usage.cache_read.input_tokens': spent.cachedTokens,
      'error.type': hasFailed ? (error?.code ?? '_OTHER') : null,
      'rookery.activation.id': trace.activationId,
      'rookery.task': trace.task,
      'rookery.outcome': outcome,
      'rookery.iterations': steps.length,
      'rookery.cost_microusd': spent.costMicrousd,
      ...(hasContent ? { 'gen_ai.input.messages': describePrompt(trace) } : {}),
    }),
    events: trace.notes.map(({ at, text, quote }) => ({
      timeUnixNano: toNanos(at),
      name: 'rookery.note',
      attributes: toAttributes({
        'rookery.note': text,
        ...(hasContent ? { 'rookery.quote': quote } : {}),
      }),
    })),
    status: hasFailed
      ? { code: statusCode.error, message: error?.message ?? 'failed' }
      : { code: statusCode.unset },
  }
}

function describeCall(trace: Trace, step: TraceStep, { hasContent }: OtlpOptions): OtlpSpan {
  const model = describeModel(trace.model)
  const hasFailed = step.finishReason === 'error'
  return {
    ...openSpan(trace, {
      id: `chat:${step.step}`,
      name: `chat ${model['gen_ai.request.model']}`.trim(),
      kind: spanKind.client,
      from: step.startedAt,
      to: step.startedAt + step.modelMs,
    }),
    attributes: toAttributes({
      'gen_ai.operation.name': 'chat',
      ...model,
      'gen_ai.conversation.id': trace.session,
      'gen_ai.response.finish_reasons': [step.finishReason],
      'gen_ai.usage.input_tokens': step.inputTokens,
      'gen_ai.usage.output_tokens': step.outputTokens,
      'gen_ai.usage.cache_read.input_tokens': step.cachedTokens,
      'gen_ai.usage.reasoning.output_tokens': step.reasoningTokens,
      'error.type': hasFailed ? '_OTHER' : null,
      'rookery.step': step.step,
      'rookery.retries': step.retries,
      'rookery.cost_microusd': step.costMicrousd,
      'rookery.is_estimated': step.isEstimated,
      'rookery.prompt.messages': step.input?.messages,
      'rookery.prompt.chars': step.input?.chars,
      'rookery.prompt.prefix_share': step.input?.prefixShare,
      ...describeHooks(step.hooks),
      ...(hasContent ? { 'gen_ai.output.messages': describeAnswer(step) } : {}),
    }),
    status: { code: hasFailed ? statusCode.error : statusCode.unset },
  }
}

const describeTool = (trace: Trace, tool: TraceTool, { hasContent }: OtlpOptions): OtlpSpan => ({
  ...openSpan(trace, {
    id: `tool:${tool.callId}`,
    name: `execute_tool ${tool.name}`,
    kind: spanKind.internal,
    from: tool.startedAt,
    to: tool.startedAt + tool.durationMs,
  }),
  attributes: toAttributes({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool.name,
    'gen_ai.tool.call.id': tool.callId,
    'gen_ai.tool.type': 'function',
    'error.type': tool.isError ? 'tool_error' : null,
    'rookery.grant': tool.grant,
    'rookery.result_bytes': tool.resultBytes,
    ...describeHooks(tool.hooks),
    ...(hasContent
      ? { 'gen_ai.tool.call.arguments': tool.arguments, 'gen_ai.tool.call.result': tool.result }
      : {}),
  }),
  status: { code: tool.isError ? statusCode.error : statusCode.unset },
})

/** Returns spans for waits for approval and for compactions. */
function describePauses(trace: Trace): OtlpSpan[] {
  const end = trace.finishedAt ?? trace.startedAt + trace.time.totalMs
  const status = { code: statusCode.unset }
  return [
    ...trace.parks.map(({ at, resumedAt, tools, decisions }, index) => ({
      ...openSpan(trace, {
        id: `park:${index}`,
        name: 'await_approval',
        kind: spanKind.internal,
        from: at,
        to: resumedAt ?? end,
      }),
      attributes: toAttributes({
        'rookery.tools': tools,
        'rookery.decisions': decisions.map(({ decision }) => decision),
      }),
      status,
    })),
    ...trace.compactions.map((each, index) => ({
      ...openSpan(trace, {
        id: `compaction:${index}`,
        name: 'compact_history',
        kind: spanKind.internal,
        from: each.at - each.durationMs,
        to: each.at,
      }),
      attributes: toAttributes({
        'rookery.replaced_messages': each.replaced,
        'rookery.tokens_before': each.tokensBefore,
        'rookery.tokens_after': each.tokens,
        'rookery.cost_microusd': each.costMicrousd,
      }),
      status,
    })),
  ]
}

/** Splits `provider/model` into the attributes of the conventions. */
function describeModel(id: string) {
  const slash = id.indexOf('/')
  return {
    'gen_ai.provider.name': slash < 0 ? id : id.slice(0, slash),
    'gen_ai.request.model': id.slice(slash + 1),
  }
}

const describeHooks = (hooks: HookTime[]) => ({
  'rookery.hooks': hooks.map(
    ({ hook, point, ms, outcome }) => `${hook} ${point} ${ms} ms ${outcome}`,
  ),
  'rookery.hooks_ms': hooks.length === 0 ? null : hooks.reduce((sum, { ms }) => sum + ms, 0),
})

const describePrompt = ({ prompt }: Trace): string =>
  JSON.stringify(
    prompt.map(({ role, excerpt }) => ({ role, parts: [{ type: 'text', content: excerpt }] })),
  )

const describeAnswer = ({ text, reasoning, tools, finishReason }: TraceStep): string =>
  JSON.stringify([
    {
      role: 'assistant',
      parts: [
        ...(reasoning === '' ? [] : [{ type: 'reasoning', content: reasoning }]),
        ...(text === '' ? [] : [{ type: 'text', content: text }]),
        ...tools.map((tool) => ({
          type: 'tool_call',
          id: tool.callId,
          name: tool.name,
          arguments: tool.arguments,
        })),
      ],
      finish_reason: finishReason,
    },
  ])
