import * as z from 'zod'
import { notFound } from '../../errors'
import type { AccountId } from '../../ids'
import type { ActionContext } from '../action-context'
import type { Db } from '../db'
import { type LimitChange, selectBudget, updateLimits } from './api-queries'
import { listWindows, type Period, windowsAheadMs, windowsBehindMs } from './calendar'
import type { PageBudget } from './page-queries'
import {
  type BudgetWindow,
  insertBudget,
  insertWindows,
  type NewBudget,
  type ShortBudget,
  selectShortBudgets,
  setDefinedLimit,
  usualThresholds,
} from './queries'

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
  const windows = short.flatMap((budget) => composeWindows(budget, now, budget.endsAt ?? 0))
  if (windows.length > 0) await db.d1.batch(insertWindows(db, windows, now))
  return windows.length
}

/** From the one that holds now on, or where those that are there end. */
const composeWindows = (budget: Period & { id: string }, now: number, after = 0): BudgetWindow[] =>
  listWindows(budget, Math.max(now - windowsBehindMs, after), now + windowsAheadMs).map(
    (window) => ({ budgetId: budget.id, ...window }),
  )

/** Creates a budget with its windows; unexecuted. */
export const createBudgetStatements = (db: Db, budget: NewBudget): D1PreparedStatement[] => [
  insertBudget(db, budget),
  ...insertWindows(db, composeWindows(budget, budget.now), budget.now),
]

/**
 * What the definition of an agent says that a day may cost: a budget beside those that admins make.
 * Null lifts the limit that it set. Unexecuted: run them in the batch of the action.
 */
export const setDefinedBudget = (
  db: Db,
  agentId: AccountId,
  limitMicrousd: number | null,
  now: number,
): D1PreparedStatement[] => {
  const limit = setDefinedLimit(db, agentId, limitMicrousd, now)
  if (limitMicrousd === null) return [limit]
  const budget: NewBudget = {
    ...usualThresholds,
    ...{ id: `budget:agent:${agentId}`, scope: 'agent', scopeId: agentId, madeBy: 'definition' },
    ...{ period: 'day', resetDay: 1, timezone: 'UTC', limitMicrousd, limitTokens: null, now },
  }
  return [...createBudgetStatements(db, budget), limit]
}
