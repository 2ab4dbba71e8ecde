import { traceExport } from '../../config'
import type { Log } from '../../log'
import type { Trace } from '../contract'
import { openTrace } from './stored-trace'
import { type OtlpOptions, toOtlp } from './to-otlp'

/** Sends finished activations to a collector of OpenTelemetry. */
export interface TraceExporter {
  /** Never throws and takes bounded time; a failure is a line in the log and a count. */
  push(traceJson: string): Promise<void>
  /** Failures since the last call of this: the next commit carries them to the counters. */
  takeFailures(): number
  /** That commit did not reach the hub. */
  giveBack(failures: number): void
}

export interface ExporterDeps extends OtlpOptions {
  /** As OTEL_EXPORTER_OTLP_ENDPOINT says: without `/v1/traces`. */
  endpoint: string
  /** As OTEL_EXPORTER_OTLP_HEADERS says. */
  headers: string | undefined
  /** A text without its secrets. */
  redact(text: string): string
  log: Log
  timeoutMs?: number
}

export function createOtlpExporter(deps: ExporterDeps): TraceExporter {
  const { log, timeoutMs = traceExport.timeoutMs } = deps
  const url = `${deps.endpoint.replace(/\/+$/, '')}/v1/traces`
  const headers = { ...readHeaders(deps.headers), 'content-type': 'application/json' }
  let failures = 0
  const exportTrace = async (trace: Trace): Promise<string | null> => {
    try {
      return await send(url, headers, compose(trace, deps), timeoutMs)
    } catch (error) {
      return error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
    }
  }
  return {
    async push(traceJson) {
      const trace = openTrace(traceJson)
      const problem = await exportTrace(trace)
      if (problem === null) return
      failures++
      const { agent, activationId: activation } = trace
      log.warn('a trace was not exported', { agent, activation, reason: problem })
    },
    takeFailures() {
      const taken = failures
      failures = 0
      return taken
    },
    giveBack(given) {
      failures += given
    },
  }
}

const compose = (trace: Trace, deps: ExporterDeps): string =>
  JSON.stringify(toOtlp(trace, deps), (_key, value: unknown) =>
    typeof value === 'string' ? deps.redact(value) : value,
  )

/** Why the collector did not take it; null when it did. Throws when it cannot be reached in time. */
async function send(
  url: string,
  headers: Record<string, string>,
  body: string,
  timeoutMs: number,
): Promise<string | null> {
  const signal = AbortSignal.timeout(timeoutMs)
  // a redirect would carry the headers, which hold a token, to somebody else
  const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
  const text = await answer.text()
  return answer.ok ? findRejection(text) : `the collector answered ${answer.status}`
}

/** A collector may take a request and refuse spans in it. */
function findRejection(text: string): string | null {
  try {
    const rejected = Number(JSON.parse(text)?.partialSuccess?.rejectedSpans ?? 0)
    return rejected > 0 ? `the collector refused ${rejected} spans` : null
  } catch {
    return null
  }
}

/** `name=value,name=value`, values percent-encoded, as OpenTelemetry writes headers in a variable. */
function readHeaders(text = ''): Record<string, string> {
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
