import type { Db } from '../db'
import { listWindows, windowsAheadMs } from './calendar'
import { insertWindows, type ShortBudget, selectShortBudgets } from './queries'

/** Finds the budgets that have windows for less than half of the time ahead. */
export const findShortBudgets = (db: Db, now: number): D1PreparedStatement =>
  selectShortBudgets(db, now + windowsAheadMs / 2)

/**
 * Makes the windows of the coming two months for the budgets that `findShortBudgets` gave. No round
 * trip when there is nothing to do.
 */
export async function extendBudgetWindows(
  db: Db,
  short: ShortBudget[],
  now: number,
): Promise<number> {
  const windows = short.flatMap((budget) =>
    listWindows(budget, Math.max(now, budget.endsAt ?? 0), now + windowsAheadMs).map((window) => ({
      budgetId: budget.id,
      ...window,
    })),
  )
  if (windows.length > 0) await insertWindows(db, windows).run()
  return windows.length
}
