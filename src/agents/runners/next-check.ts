import { runnerLimits } from '../../shared/config'
import type { StoredRun } from './runner-rows'

/** What the runners' object waits for. Times are milliseconds since the Unix epoch. */
export interface Waits {
  runs: readonly Pick<StoredRun, 'state' | 'sentAt' | 'dueAt' | 'endsAt'>[]
  /** Runners that hold runs: when they last sent something, and when they were disconnected. */
  busyRunners: readonly { seenAt: number; disconnectedAt: number | null }[]
  /** When connections were opened that have not said who they are. */
  openedAt: readonly number[]
  /** The earliest deadline of an ended run that is remembered; null: there is none. */
  oldestEnd: number | null
}

const { silenceMs, graceMs, helloMs, overrunMs, retryMs, endedKeptMs } = runnerLimits

/** Returns when a run needs a look, whatever its runner does. */
function findRunCheck(run: Waits['runs'][number], now: number): number {
  const { state, sentAt, dueAt, endsAt } = run
  if (state === 'stopping' || state === 'lost') return dueAt ?? 0
  if (state === 'assigned') return sentAt === null ? now + retryMs : endsAt + overrunMs
  // What was due is tried with every change; only the deadline is left.
  return dueAt !== null && dueAt > now ? Math.min(dueAt, endsAt) : endsAt
}

/**
 * Returns the time of the next alarm; null: none. A runner without runs needs none: whether it is still
 * there is looked at when it is to get a run.
 */
export function computeNextCheck(waits: Waits, now: number): number | null {
  const times = [
    ...waits.runs.map((run) => findRunCheck(run, now)),
    ...waits.busyRunners.map(({ seenAt, disconnectedAt }) =>
      disconnectedAt === null ? seenAt + silenceMs : disconnectedAt + graceMs,
    ),
    ...waits.openedAt.map((at) => at + helloMs),
    ...(waits.oldestEnd === null ? [] : [waits.oldestEnd + endedKeptMs]),
  ]
  return times.length === 0 ? null : Math.max(now, Math.min(...times))
}
