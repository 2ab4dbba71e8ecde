import type { Db } from '../db'
import { listWindows, type Period, windowsAheadMs } from './calendar'
import { insertWindows, selectShortBudgets } from './queries'

interface ShortBudget extends Period {
  id: string
  endsAt: number | null
}

/**
 * Makes the windows of the coming two months for every budget that has less than half of that.
 * One round trip when there is nothing to do.
 */
export async function extendBudgetWindows(db: Db, now: number): Promise<number> {
  const short = await selectShortBudgets(db, now + windowsAheadMs / 2).all<ShortBudget>()
  const windows = short.results.flatMap((budget) =>
    listWindows(budget, Math.max(now, budget.endsAt ?? 0), now + windowsAheadMs).map((window) => ({
      budgetId: budget.id,
      ...window,
    })),
  )
  if (windows.length > 0) await insertWindows(db, windows).run()
  return windows.length
}
