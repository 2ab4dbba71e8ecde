import { traceExport } from '../../shared/config'
import { truncateBody } from '../../shared/cut-text'
import type { ActivationId } from '../../shared/ids'
import type { Log } from '../../shared/log'
import type {
  HookTime,
  Waterfall as Trace,
  TraceStep,
  TraceTool,
  Waterfall,
} from '../contract/agents'
import { parseRecord } from './record'
import { redactRunLog } from './redact'
import { toWaterfall } from './waterfall'

/** Sends finished activations to an OpenTelemetry collector. */
export interface TraceExporter {
  /**
   * Exports the record of an activation. Never throws and takes bounded time; a failure is logged
   * and counted, also when the record cannot be read.
   */
  push(activationId: ActivationId, stored: string): Promise<void>
  /**
   * Returns the failures since the last call and resets the count; the next commit adds them to the
   * counters.
   */
  takeFailures(): number
  /** Adds failures back to the count, when their commit did not reach the hub. */
  restoreFailures(failures: number): void
}

interface ExporterDeps extends OtlpOptions {
  /** The value of OTEL_EXPORTER_OTLP_ENDPOINT, without `/v1/traces`. */
  endpoint: string
  /** The value of OTEL_EXPORTER_OTLP_HEADERS. */
  headers: string | undefined
  /** Removes secrets from a text. */
  redact(text: string): string
  log: Log
  timeoutMs?: number
}

export function createOtlpExporter(deps: ExporterDeps): TraceExporter {
  const { log, timeoutMs = traceExport.timeoutMs } = deps
  const url = `${deps.endpoint.replace(/(?<!\/)\/+$/, '')}/v1/traces`
  const headers = { ...parseHeaders(deps.headers), 'content-type': 'application/json' }
  let failures = 0
  const exportTrace = async (trace: Waterfall): Promise<string | null> => {
    try {
      return await send(url, headers, compose(trace, deps), timeoutMs)
    } catch (error) {
      return error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
    }
  }
  return {
    async push(activation, stored) {
      const parsed = parseRecord(stored)
      if (!parsed.ok) {
        failures++
        log.warn('trace export skipped: unreadable record', { activation, reason: parsed.problem })
        return
      }
      // What the account of a requester returned leaves the hub for nobody.
      const { log: run } = parsed
      const trace = toWaterfall(run.usesOwnAccount ? redactRunLog(run, 'none') : run)
      const problem = await exportTrace(trace)
      if (problem === null) return
      failures++
      log.warn('trace export failed', { agent: trace.agent, activation, reason: problem })
    },
    takeFailures() {
      const taken = failures
      failures = 0
      return taken
    },
    restoreFailures(given) {
      failures += given
    },
  }
}

const compose = (trace: Waterfall, deps: ExporterDeps): string =>
  JSON.stringify(toOtlp(trace, deps), (_key, value: unknown) =>
    typeof value === 'string' ? deps.redact(value) : value,
  )

/**
 * Returns why the collector refused the export; null when it accepted. Throws when the collector
 * cannot be reached in time.
 */
async function send(
  url: string,
  headers: Record<string, string>,
  body: string,
  timeoutMs: number,
): Promise<string | null> {
  const signal = AbortSignal.timeout(timeoutMs)
  // a redirect would send the headers, which hold a token, to another host
  const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
  const text = await truncateBody(answer, traceExport.answerBytesMax).text()
  return answer.ok ? findRejection(text) : `the collector answered ${answer.status}`
}

/**
 * Returns why spans were rejected, since a collector may accept a request and reject some of its
 * spans.
 */
function findRejection(text: string): string | null {
  try {
    const rejected = Number(JSON.parse(text)?.partialSuccess?.rejectedSpans ?? 0)
    return rejected > 0 ? `the collector rejected ${rejected} spans` : null
  } catch {
    return null
  }
}

/**
 * Parses `name=value,name=value`, values percent-encoded, the format of OpenTelemetry for headers
 * in a variable.
 */
function parseHeaders(text = ''): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const pair of text.split(',')) {
    const equals = pair.indexOf('=')
    const name = pair.slice(0, Math.max(equals, 0)).trim()
    if (/^[\w!#$%&'*+.^`|~-]+$/.test(name)) headers[name] = decode(pair.slice(equals + 1).trim())
  }
  return headers
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

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

/**
 * The part of ExportTraceServiceRequest that is used here: OTLP over HTTP in its JSON encoding.
 * 64-bit numbers are text, ids are hexadecimal, enums are numbers.
 */
interface OtlpExport {
  resourceSpans: {
    resource: { attributes: OtlpAttribute[] }
    scopeSpans: { scope: { name: string }; spans: OtlpSpan[] }[]
  }[]
}

interface OtlpSpan {
  /** 32 hexadecimal digits. */
  traceId: string
  /** 16 hexadecimal digits. */
  spanId: string
  /** Absent for the root. */
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: OtlpAttribute[]
  events?: { timeUnixNano: string; name: string; attributes: OtlpAttribute[] }[]
  status: { code: number; message?: string }
}

interface OtlpAttribute {
  key: string
  value: OtlpValue
}

type OtlpValue =
  | { stringValue: string }
  | { boolValue: boolean }
  | { intValue: string }
  | { doubleValue: number }
  | { arrayValue: { values: OtlpValue[] } }

const spanKind = { internal: 1, client: 3 } as const
const statusCode = { unset: 0, error: 2 } as const

type Plain = string | boolean | number | string[]

/** Returns attributes from plain values; null, undefined and empty values are omitted. */
const toAttributes = (values: Record<string, Plain | null | undefined>): OtlpAttribute[] =>
  Object.entries(values).flatMap(([key, value]) =>
    value === null || value === undefined || value === '' ? [] : [{ key, value: toValue(value) }],
  )

function toValue(value: Plain): OtlpValue {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(toValue) } }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'string') return { stringValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** Converts milliseconds since the epoch to nanoseconds. */
const toNanos = (ms: number): string => `${Math.round(ms)}000000`

/** Returns the trace id of an activation: its UUID has as many digits. */
const toTraceId = (activationId: string): string => activationId.replaceAll('-', '').toLowerCase()

const offset = 0xcbf29ce484222325n
const prime = 0x100000001b3n
const mask = 0xffffffffffffffffn

/**
 * Returns a span id that is always the same for an activation and name, so that a repeated export
 * creates the same spans (FNV-1a).
 */
function toSpanId(activationId: string, name: string): string {
  let hash = offset
  for (const byte of new TextEncoder().encode(`${activationId}/${name}`)) {
    hash = ((hash ^ BigInt(byte)) * prime) & mask
  }
  return (hash || 1n).toString(16).padStart(16, '0')
}
