import { requesterLists } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { countCalls, type UncountedCalls } from './requester-queries'

/**
 * Whether a sweep looks for calls to count: those of the last twelve minutes of an hour do, since sweeps are at most
 * ten minutes apart, so that the others of an idle hub read nothing for it.
 */
export const isCountingTime = (now: number): boolean =>
  now % requesterLists.lagMs >= requesterLists.lagMs * 0.8

/** Counts the calls that a sweep found, but for those of the last hour, of which some may not be written yet. */
export async function countRequesters(
  db: Db,
  due: UncountedCalls | null | undefined,
  now: number,
): Promise<void> {
  if (due) await batch(db, { counted: countCalls(due, now - requesterLists.lagMs) })
}
