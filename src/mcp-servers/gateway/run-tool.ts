import type { AuditEntry } from '../../hub/contract/hub'
import { AppError } from '../../shared/errors'

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
