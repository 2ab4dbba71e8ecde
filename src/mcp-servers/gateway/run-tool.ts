import type { AuditEntry } from '../../hub/contract/hub'
import { sliceUtf8 } from '../../shared/cut-text'
import { AppError } from '../../shared/errors'
import type { ToolResult } from '../contract/tools'
import { resultsReadName } from '../servers/results'
import type { Pipeline } from './pipeline'

export interface ToolRun {
  outcome: NonNullable<AuditEntry['outcome']>
  /** The text returned to the model. */
  text: string
  /** Why the tool failed, for the operator; never shown to a model. */
  cause?: unknown
}

/**
 * Runs a tool until it returns, `timeoutMs` passes or `signal` aborts, even if the tool ignores its
 * signal. Never throws.
 */
export async function runTool(
  name: string,
  timeoutMs: number,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<unknown>,
): Promise<ToolRun> {
  const stop = new AbortController()
  const stopped = Promise.withResolvers<ToolRun>()
  const end = (result: ToolRun) => {
    stopped.resolve(result)
    stop.abort()
  }
  const cancel = () =>
    end({ outcome: 'cancelled', text: `Error: The call to ${name} was cancelled.` })
  const timer = setTimeout(() => end(timedOut(name, timeoutMs)), timeoutMs)
  signal.addEventListener('abort', cancel)
  if (signal.aborted) cancel()
  try {
    const finished = stop.signal.aborted ? stopped.promise : finish(name, () => run(stop.signal))
    return await Promise.race([stopped.promise, finished])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
  }
}

const timedOut = (name: string, timeoutMs: number): ToolRun => ({
  outcome: 'timeout',
  text: `Error: ${name} timed out after ${timeoutMs / 1000} s. The action may still have completed.`,
})

async function finish(name: string, run: () => Promise<unknown>): Promise<ToolRun> {
  try {
    const value = await run()
    return {
      outcome: 'ok',
      text: typeof value === 'string' ? value : JSON.stringify(value ?? null),
    }
  } catch (error) {
    return { outcome: 'error', text: describeFailure(name, error), cause: error }
  }
}

/** Formats an error for the model. Only the message of an `AppError` is public. */
function describeFailure(name: string, error: unknown): string {
  if (!(error instanceof AppError)) {
    return `Error: ${name} failed with an internal error of the hub. Try again later.`
  }
  const details = (error.details ?? []).map(({ path, message }) => `${path}: ${message}`).join('; ')
  return ['Error:', error.message, error.hint, details].filter(Boolean).join(' ')
}

export function toResult(
  { clock, resultBytesMax }: Pipeline,
  entry: AuditEntry,
  run: Omit<ToolRun, 'outcome'> & { outcome: AuditEntry['outcome'] },
  handle: string | null = null,
): ToolResult {
  const { text, bytes } = truncateText(run.text, resultBytesMax, handle)
  const durationMs = clock.now() - entry.at
  return {
    callId: entry.callId,
    text,
    isError: run.outcome !== 'ok',
    ...(text !== run.text && { isExcerpt: true }),
    approval: null,
    durationMs,
    audit: { ...entry, outcome: run.outcome, durationMs, resultBytes: bytes },
  }
}

const encoder = new TextEncoder()

/** Bytes reserved for the note, whatever numbers it contains. */
const NOTE_BYTES = 240

/**
 * Truncates a result to at most `bytesMax` bytes of UTF-8, between characters. A note at the end gives
 * the size, and how to read on when the whole result is stored under a handle.
 */
export function truncateText(
  text: string,
  bytesMax: number,
  handle: string | null = null,
): { text: string; bytes: number } {
  const bytes = encoder.encode(text)
  if (bytes.length <= bytesMax) return { text, bytes: bytes.length }
  const part = sliceUtf8(bytes, 0, Math.max(0, bytesMax - NOTE_BYTES))
  const kib = (count: number) => Math.ceil(count / 1024)
  const next =
    handle === null
      ? 'Request less at a time.'
      : `Read on with ${resultsReadName}: handle ${handle}, offset ${part.end}.`
  const truncated = `${part.text}\n[Truncated: ${kib(part.end)} of ${kib(bytes.length)} KiB shown. ${next}]`
  return { text: truncated, bytes: encoder.encode(truncated).length }
}
