import { exploration } from '../../shared/config'
import type { ActionContext } from '../action-context'
import type { DueSchedule, ExplorationReport, Schedule } from '../contract/hub'
import {
  assignScheduledStatements,
  type ExplorerRow,
  explorersPerPage,
  type HubStateRow,
} from './sweep-queries'

/** Converts the results of `explorationStatements` to the contract's type. */
export function readExplorationReport(results: D1Result<unknown>[]): ExplorationReport {
  const explorers = (results[0]?.results ?? []) as ExplorerRow[]
  const hub = results[2]?.results[0] as HubStateRow | undefined
  const last = explorers.length === explorersPerPage ? explorers.at(-1) : undefined
  return {
    explorers: explorers.map((row) => ({ ...row, isPaused: row.isPaused === 1 })),
    next: last?.agentId ?? null,
    schedules: (results[1]?.results ?? []) as Schedule[],
    newContentAt: listNewsTimes(hub),
    isThrottled: hub?.isThrottled === 1,
    runningExploration: hub?.runningExploration ?? 0,
  }
}

/** Returns the times at which posts become, or became, candidates; in milliseconds since the Unix epoch. */
function listNewsTimes(hub: HubStateRow | undefined): number[] {
  const after = (at: number | null | undefined, ms: number) =>
    at === null || at === undefined ? [] : [at + ms]
  return [
    ...after(hub?.lastPostAt, exploration.ageMsMin),
    ...after(hub?.seenPostAt, exploration.ageMsMin),
    ...after(hub?.lastWordAt, exploration.humanQuietMs),
  ]
}

/** Assigns the tasks of due schedules in one batch. Idempotent. */
export async function assignScheduledTasks(
  { db, clock }: ActionContext,
  due: DueSchedule[],
  now: number,
): Promise<void> {
  if (due.length === 0) return
  const items = due.map((each) => ({ ...each, itemId: clock.newId() }))
  await db.d1.batch(assignScheduledStatements(db, items, now))
}
