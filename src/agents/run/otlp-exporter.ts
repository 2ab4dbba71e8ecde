import { traceExport } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import type { Log } from '../../shared/log'
import { truncateBody } from '../../shared/truncate-body'
import type { Waterfall } from '../contract/agents'
import { type OtlpOptions, toOtlp } from './otlp-spans'
import { redactRunLog } from './redact'
import { parseRunLog } from './stored-log'
import { toWaterfall } from './waterfall'

/** Sends finished activations to an OpenTelemetry collector. */
export interface TraceExporter {
  /**
   * Exports the stored log of an activation. Never throws and takes bounded time; a failure is logged
   * and counted, also when the log cannot be read.
   */
  push(activationId: ActivationId, runLog: string): Promise<void>
  /**
   * Returns the failures since the last call and resets the count; the next commit adds them to the
   * counters.
   */
  takeFailures(): number
  /** Adds failures back to the count, when their commit did not reach the hub. */
  restoreFailures(failures: number): void
}

export interface ExporterDeps extends OtlpOptions {
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
    async push(activation, runLog) {
      const parsed = parseRunLog(runLog)
      if (!parsed.ok) {
        failures++
        log.warn('trace export skipped: unreadable log', { activation, reason: parsed.problem })
        return
      }
      // What the account of a requester returned leaves the hub for nobody.
      const isOwn = parsed.log.usesOwnAccount === true
      const trace = toWaterfall(isOwn ? redactRunLog(parsed.log, 'none') : parsed.log)
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
