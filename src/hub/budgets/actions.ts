import { budgetLimits } from '../../shared/config'
import { type AppError, type ErrorDetail, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import type { Db } from '../db'
import { type IdempotentResult, runOnce, runOrReturnStored } from '../idempotency/run-once'
import {
  deleteBudget,
  deleteOrphanedRows,
  selectBudget,
  selectDuplicateBudget,
  selectPaidModel,
  selectScopeId,
  updateBudget,
} from './api-queries'
import { periodLabels } from './budget-labels'
import { listWindows, type Period, windowsAheadMs, windowsBehindMs } from './calendar'
import { budgetErrors } from './errors'
import { type BudgetChange, type BudgetInput, normalizeScopeId } from './inputs'
import type { PageBudget } from './page-queries'
import {
  type BudgetWindow,
  defaultThresholds,
  type ExpiringBudget,
  insertBudget,
  insertWindows,
  type NewBudget,
  selectExpiringBudgets,
  type Thresholds,
  updateDefinitionLimit,
} from './queries'

export interface CreatedBudget {
  budget: PageBudget
  warnings: ErrorDetail[]
}

/**
 * Creates a budget that counts all usage since the beginning of its current period. An idempotent
 * retry returns the budget in its present state.
 *
 * @throws NOT_FOUND for an unknown agent or community, CONFLICT for a duplicate of scope and period,
 *   VALIDATION for thresholds out of order
 */
export async function createBudget(
  { db, clock }: ActionContext,
  { accountId, idempotencyKey: key }: Actor,
  input: BudgetInput,
): Promise<IdempotentResult<CreatedBudget>> {
  const now = clock.now()
  const once = { accountId, key, action: 'budgets.create', input }
  const read = (id: string) => [selectBudget(db, id, now), selectPaidModel(db, id)]
  const done = await runOrReturnStored(db, once, async () => {
    const budget = await composeBudget(db, input, clock.newId(), now)
    const statements = [...createBudgetStatements(db, budget), ...read(budget.id)]
    const work = { now, answer: budget.id, statements }
    return runOnce(db, once, work).catch((error: unknown) =>
      throwDuplicateBudget(db, budget, error),
    )
  })
  const results = done.isDuplicate ? await db.d1.batch<unknown>(read(done.answer)) : done.results
  const budget = results.at(-2)?.results[0] as PageBudget | undefined
  if (!budget) throw notFound('budget')
  return {
    ...done,
    answer: { budget, warnings: results.at(-1)?.results[0] ? [] : listWarnings(budget) },
  }
}

async function composeBudget(
  db: Db,
  input: BudgetInput,
  id: string,
  now: number,
): Promise<NewBudget> {
  const { warningShare, throttleShare, criticalShare } = defaultThresholds
  const budget: NewBudget = {
    id,
    scope: input.scope,
    scopeId: await findScopeId(db, input),
    period: input.period,
    resetDay: input.reset_day,
    timezone: input.timezone,
    limitMicrousd: input.limit_microusd ?? null,
    limitTokens: input.limit_tokens ?? null,
    warningShare: input.warning_share ?? warningShare,
    throttleShare: input.throttle_share ?? throttleShare,
    criticalShare: input.critical_share ?? criticalShare,
    allowsCritical: input.allows_critical ?? false,
    madeBy: 'admin',
    now,
  }
  if (!isOrdered(budget)) throw budgetErrors.thresholdOrder()
  return budget
}

/** Throws CONFLICT for a violated UNIQUE constraint of budgets, and any other error unchanged. */
async function throwDuplicateBudget(db: Db, budget: NewBudget, cause: unknown): Promise<never> {
  if (!String(cause).includes('budgets.scope')) throw cause
  const existing = await selectDuplicateBudget(db, budget).first<{ id: string }>()
  throw budgetErrors.duplicate(periodLabels[budget.period], existing?.id, cause)
}

/** Warns that no agent uses the model or provider: its name may be misspelt. */
function listWarnings({ scope }: PageBudget): ErrorDetail[] {
  if (scope !== 'model' && scope !== 'executor') return []
  const model = scope === 'model' ? 'this model' : 'a model of this provider'
  return [{ path: 'body.name', message: `No agent uses ${model} now. Check the name.` }]
}

const isOrdered = (budget: Thresholds): boolean =>
  budget.warningShare <= budget.throttleShare && budget.throttleShare <= budget.criticalShare

/** Returns the id of a named agent or community; the name of a provider or model is its id. */
async function findScopeId(db: Db, { scope, name = '' }: BudgetInput): Promise<string> {
  if (scope !== 'agent' && scope !== 'community') return normalizeScopeId(name)
  const found = await selectScopeId(db, scope, name).first<{ id: string }>()
  if (!found) throw notFound(scope)
  return found.id
}

/**
 * Updates limits and thresholds of a budget and returns it, in one round trip.
 *
 * @throws NOT_FOUND, VALIDATION for thresholds out of order
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
  if (results[0]?.results.length === 0) throw budgetErrors.thresholdOrder()
  // the change may unpause exploration, so the sweep runs soon
  defer(scheduler.sweepNow())
  return budget
}

/**
 * Deletes a budget and its counters; usage events stay. The last budget of the hub can't be deleted,
 * because agents can't spend without a budget. Nor can the limit of a definition, which readers of
 * the definition must be able to rely on.
 *
 * @throws NOT_FOUND, CONFLICT
 */
export async function removeBudget({ db, clock }: ActionContext, id: string): Promise<void> {
  const results = await db.d1.batch<unknown>([
    deleteBudget(db, id),
    selectBudget(db, id, clock.now()),
    ...deleteOrphanedRows(db, id),
  ])
  const existing = results[1]?.results[0] as PageBudget | undefined
  if (existing) throw toDeleteError(existing)
  if (results[0]?.results.length === 0) throw notFound('budget')
}

const toDeleteError = ({ madeBy, name }: PageBudget): AppError =>
  madeBy === 'definition' ? budgetErrors.setByDefinition(name) : budgetErrors.lastOfHub()

/** Returns the query for budgets that have windows for less than half of the time ahead. */
export const findExpiringBudgets = (db: Db, now: number): D1PreparedStatement =>
  selectExpiringBudgets(db, now + windowsAheadMs / 2)

/**
 * Creates the windows of the next two months for the budgets that `findShortBudgets` returned. Takes
 * one round trip per chunk, and none when no budget is given. After a failure the next call finds the
 * remaining budgets again.
 */
export async function extendBudgetWindows(
  db: Db,
  short: ExpiringBudget[],
  now: number,
): Promise<void> {
  const windows = short.flatMap((budget) => composeWindows(budget, now, budget.endsAt ?? 0))
  for (let from = 0; from < windows.length; from += budgetLimits.windowsPerWrite) {
    const chunk = windows.slice(from, from + budgetLimits.windowsPerWrite)
    await db.d1.batch(insertWindows(db, chunk, now))
  }
}

/** Lists windows from the current one on, or from `after` where existing windows end later. */
const composeWindows = (budget: Period & { id: string }, now: number, after = 0): BudgetWindow[] =>
  listWindows(budget, Math.max(now - windowsBehindMs, after), now + windowsAheadMs).map(
    (window) => ({ budgetId: budget.id, ...window }),
  )

/** Returns the statements that create a budget with its windows. */
const createBudgetStatements = (db: Db, budget: NewBudget): D1PreparedStatement[] => [
  insertBudget(db, budget),
  ...insertWindows(db, composeWindows(budget, budget.now), budget.now),
]

/**
 * Returns the statements that set the daily cost limit of an agent's definition, as a budget beside
 * those that admins create; run them in the batch of the action. Null removes the limit.
 *
 * @param limitMicrousd micro-dollars a day
 */
export const setDefinitionBudget = (
  db: Db,
  agentId: AccountId,
  limitMicrousd: number | null,
  now: number,
): D1PreparedStatement[] => {
  const limit = updateDefinitionLimit(db, agentId, limitMicrousd, now)
  if (limitMicrousd === null) return [limit]
  const budget: NewBudget = {
    ...defaultThresholds,
    id: `budget:agent:${agentId}`,
    scope: 'agent',
    scopeId: agentId,
    madeBy: 'definition',
    period: 'day',
    resetDay: 1,
    timezone: 'UTC',
    limitMicrousd,
    limitTokens: null,
    now,
  }
  return [...createBudgetStatements(db, budget), limit]
}
