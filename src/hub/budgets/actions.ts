import { budgetLimits } from '../../config'
import { AppError, type ErrorDetail, notFound } from '../../errors'
import type { AccountId } from '../../ids'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract'
import type { Db } from '../db'
import { type Done, replayIfRefused, runOnce } from '../idempotency/run-once'
import {
  deleteBudget,
  deleteLost,
  selectBudget,
  selectModelPaid,
  selectScopeId,
  selectTwin,
  updateBudget,
} from './api-queries'
import { listWindows, type Period, windowsAheadMs, windowsBehindMs } from './calendar'
import { type BudgetChange, type BudgetInput, readScopeId } from './inputs'
import type { PageBudget } from './page-queries'
import {
  type BudgetWindow,
  insertBudget,
  insertWindows,
  type NewBudget,
  type ShortBudget,
  selectShortBudgets,
  setDefinedLimit,
  type Thresholds,
  usualThresholds,
} from './queries'

/** Of thresholds that are not in order. */
const disorderly = () =>
  new AppError('VALIDATION', 'The thresholds of a budget have an order.', {
    hint: 'warning_share is at most throttle_share, and that is at most critical_share.',
  })

export interface MadeBudget {
  budget: PageBudget
  warnings: ErrorDetail[]
}

/**
 * Creates a budget. It counts from the beginning of its period, so what was spent in it before is on
 * it at once. A repeat tells of it as it is by then.
 *
 * @throws NOT_FOUND for an agent or community that is not there, CONFLICT when there is such a budget
 */
export async function createBudget(
  { db, clock }: ActionContext,
  { accountId, idempotencyKey: key }: Actor,
  input: BudgetInput,
): Promise<Done<MadeBudget>> {
  const now = clock.now()
  const once = { accountId, key, action: 'budgets.create', input }
  const read = (id: string) => [selectBudget(db, id, now), selectModelPaid(db, id)]
  const done = await replayIfRefused(db, once, async () => {
    const budget = await composeBudget(db, input, clock.newId(), now)
    const statements = [...createBudgetStatements(db, budget), ...read(budget.id)]
    const work = { now, answer: budget.id, statements }
    return runOnce(db, once, work).catch((error: unknown) => sayTwin(db, budget, error))
  })
  const results = done.isReplay ? await db.d1.batch<unknown>(read(done.answer)) : done.results
  const budget = results.at(-2)?.results[0] as PageBudget | undefined
  if (!budget) throw notFound('budget')
  return { ...done, answer: { budget, warnings: results.at(-1)?.results[0] ? [] : warnOf(budget) } }
}

async function composeBudget(
  db: Db,
  input: BudgetInput,
  id: string,
  now: number,
): Promise<NewBudget> {
  const { warningShare, throttleShare, criticalShare } = usualThresholds
  const budget: NewBudget = {
    ...{ id, scope: input.scope, scopeId: await findScopeId(db, input) },
    ...{ period: input.period, resetDay: input.reset_day, timezone: input.timezone },
    ...{ limitMicrousd: input.limit_microusd ?? null, limitTokens: input.limit_tokens ?? null },
    warningShare: input.warning_share ?? warningShare,
    throttleShare: input.throttle_share ?? throttleShare,
    criticalShare: input.critical_share ?? criticalShare,
    allowsCritical: input.allows_critical ?? false,
    ...{ madeBy: 'admin', now },
  }
  if (!isOrderly(budget)) throw disorderly()
  return budget
}

async function sayTwin(db: Db, budget: NewBudget, cause: unknown): Promise<never> {
  if (!String(cause).includes('budgets.scope')) throw cause
  const twin = await selectTwin(db, budget).first<{ id: string }>()
  throw new AppError('CONFLICT', `There is such a budget for each ${budget.period} already.`, {
    hint: `Change that one: PUT /api/v1/budgets/${twin?.id}`,
    cause,
  })
}

/** What no agent has may be a name that is written wrong. */
function warnOf({ scope }: PageBudget): ErrorDetail[] {
  if (scope !== 'model' && scope !== 'executor') return []
  const what = scope === 'model' ? 'this model' : 'a model of this provider'
  return [{ path: 'body.name', message: `No agent has ${what} now: check the name.` }]
}

const isOrderly = (budget: Thresholds): boolean =>
  budget.warningShare <= budget.throttleShare && budget.throttleShare <= budget.criticalShare

/** The id behind a name; providers and models are their own. */
async function findScopeId(db: Db, { scope, name = '' }: BudgetInput): Promise<string> {
  if (scope !== 'agent' && scope !== 'community') return readScopeId(name)
  const found = await selectScopeId(db, scope, name).first<{ id: string }>()
  if (!found) throw notFound(scope)
  return found.id
}

/**
 * Sets limits and thresholds of a budget and reads it back, in one round trip.
 *
 * @throws NOT_FOUND, VALIDATION for thresholds that are not in order
 */
export async function changeBudget(
  { db, clock, scheduler, defer }: ActionContext,
  id: string,
  change: BudgetChange,
): Promise<PageBudget> {
  const now = clock.now()
  const results = await db.d1.batch<unknown>([
    updateBudget(db, id, change, now),
    selectBudget(db, id, now),
  ])
  const budget = results[1]?.results[0] as PageBudget | undefined
  if (!budget) throw notFound('budget')
  if (results[0]?.results.length === 0) throw disorderly()
  // agents may look around again, and the hub says so
  defer(scheduler.lookSoon())
  return budget
}

/**
 * Takes a budget away, with what it counted; the usage itself stays in the books. The last one of
 * the hub stays: without any budget no agent may spend anything. So does the limit of a definition:
 * who reads that must be able to rely on it.
 *
 * @throws NOT_FOUND, CONFLICT
 */
export async function removeBudget({ db, clock }: ActionContext, id: string): Promise<void> {
  const results = await db.d1.batch<unknown>([
    deleteBudget(db, id),
    selectBudget(db, id, clock.now()),
    ...deleteLost(db, id),
  ])
  const kept = results[1]?.results[0] as PageBudget | undefined
  if (kept) throw stays(kept)
  if (results[0]?.results.length === 0) throw notFound('budget')
}

const stays = ({ madeBy, name }: PageBudget): AppError =>
  madeBy === 'definition'
    ? new AppError('CONFLICT', `The definition of ${name ?? 'the agent'} sets this limit.`, {
        hint: 'Take `brain.max_cost_per_day` out of the definition, or change it there.',
      })
    : new AppError('CONFLICT', 'This is the last budget of the hub.', {
        hint: 'Lift its limits instead: null means no limit.',
      })

/** Finds the budgets that have windows for less than half of the time ahead. */
export const findShortBudgets = (db: Db, now: number): D1PreparedStatement =>
  selectShortBudgets(db, now + windowsAheadMs / 2)

/**
 * Makes the windows of the coming two months for the budgets that `findShortBudgets` gave, a round
 * trip for each part of them: none when there is nothing to do. What a failure leaves out is short still.
 */
export async function extendBudgetWindows(
  db: Db,
  short: ShortBudget[],
  now: number,
): Promise<void> {
  const windows = short.flatMap((budget) => composeWindows(budget, now, budget.endsAt ?? 0))
  for (let from = 0; from < windows.length; from += budgetLimits.windowsPerWrite) {
    const part = windows.slice(from, from + budgetLimits.windowsPerWrite)
    await db.d1.batch(insertWindows(db, part, now))
  }
}

/** From the one that holds now on, or where those that are there end. */
const composeWindows = (budget: Period & { id: string }, now: number, after = 0): BudgetWindow[] =>
  listWindows(budget, Math.max(now - windowsBehindMs, after), now + windowsAheadMs).map(
    (window) => ({ budgetId: budget.id, ...window }),
  )

/** Creates a budget with its windows; unexecuted. */
const createBudgetStatements = (db: Db, budget: NewBudget): D1PreparedStatement[] => [
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
