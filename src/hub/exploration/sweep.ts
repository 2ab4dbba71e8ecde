import { exploration } from '../../shared/config'
import { type Answers, batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import type { DueSchedule, ExplorationReport } from '../contract/hub'
import {
  assignScheduledStatements,
  type explorationStatements,
  explorersPerPage,
  type HubStateRow,
} from './sweep-queries'

/** Converts the answers of `explorationStatements` to the contract's type. */
export function readExplorationReport({
  explorers,
  schedules,
  hubState,
}: Omit<Answers<ReturnType<typeof explorationStatements>>, 'reset'>): ExplorationReport {
  const last = explorers.length === explorersPerPage ? explorers.at(-1) : undefined
  return {
    explorers,
    next: last?.agentId ?? null,
    schedules,
    newContentAt: listNewsTimes(hubState),
    isThrottled: hubState?.isThrottled ?? false,
    runningExploration: hubState?.runningExploration ?? 0,
    isInboxWaiting: hubState?.isInboxWaiting ?? false,
  }
}

/** Returns the times at which posts become, or became, candidates; in milliseconds since the Unix epoch. */
function listNewsTimes(hub: HubStateRow | undefined): number[] {
  const after = (at: number | null | undefined, ms: number) =>
    at === null || at === undefined ? [] : [at + ms]
  return [
    ...after(hub?.lastPostAt, exploration.ageMsMin),
    ...after(hub?.seenPostAt, exploration.ageMsMin),
    ...after(hub?.lastPersonAt, exploration.humanQuietMs),
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
  await batch(db, { tasks: assignScheduledStatements(items, now) })
}
