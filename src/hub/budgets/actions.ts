import * as z from 'zod'
import { notFound } from '../../errors'
import type { ActionContext } from '../action-context'
import type { Db } from '../db'
import { type LimitChange, selectBudget, updateLimits } from './api-queries'
import { listWindows, windowsAheadMs } from './calendar'
import type { PageBudget } from './page-queries'
import { insertWindows, type ShortBudget, selectShortBudgets } from './queries'

/** Far beyond any bill, and exact as a number of JSON. */
export const limitMax = 1_000_000_000_000_000
const limit = z.number().int().min(0).max(limitMax).nullable().optional()

/** New limits of a budget: null lifts one, an absent one stays. */
export const limitsInput = z
  .strictObject({ limit_microusd: limit, limit_tokens: limit })
  .refine((change) => Object.keys(change).length > 0, 'names no limit')

/**
 * Sets the limits of a budget and reads it back, in one round trip.
 *
 * @throws NOT_FOUND
 */
export async function setLimits(
  { db, clock }: ActionContext,
  id: string,
  change: LimitChange,
): Promise<PageBudget> {
  const now = clock.now()
  const results = await db.d1.batch([updateLimits(db, id, change, now), selectBudget(db, id, now)])
  const budget = results[1]?.results[0] as PageBudget | undefined
  if (!budget) throw notFound('budget')
  return budget
}

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
