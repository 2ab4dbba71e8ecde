import { budgetLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { Statement } from '../../shared/db/statement'
import { type AppError, type ErrorDetail, notFound } from '../../shared/errors'
import type { AccountId, BudgetId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction, recordIfChanged } from '../admin-log/compose-entry'
import { withoutMark } from '../communities/community-name'
import { findFailedConstraint } from '../constraint-errors'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce, runOrReturnStored } from '../idempotency/run-once'
import { defaultThresholds } from '../schema/budgets'
import { accountReader } from '../viewers/reader'
import {
  deleteBudget,
  deleteOrphanedRows,
  markUpdatedBudget,
  selectDuplicateBudget,
  selectPaidModel,
  selectScopeId,
  updateBudget,
} from './api-queries'
import { periodLabels } from './budget-labels'
import { listWindows, type Period, windowsAheadMs, windowsBehindMs } from './calendar'
import { budgetErrors } from './errors'
import { keepGuestsShare, throwExcessOfGuests, toLimits, warnOfLowering } from './guests-share'
import { type BudgetChange, type BudgetInput, normalizeScopeId, readThresholds } from './inputs'
import { isOrdered, type Thresholds } from './levels'
import { type PageBudget, selectBudget } from './page-queries'
import {
  type BudgetWindow,
  type ExpiringBudget,
  insertBudget,
  insertWindows,
  type NewBudget,
  selectExpiringBudgets,
  updateDefinitionLimit,
} from './queries'

export interface SavedBudget {
  budget: PageBudget
  warnings: ErrorDetail[]
}

/**
 * Creates a budget that counts all usage since the beginning of its current period. An idempotent
 * retry returns the budget in its present state.
 *
 * @throws NOT_FOUND for an unknown agent or community, CONFLICT for a duplicate of scope and period,
 *   VALIDATION for thresholds out of order or more for guests than their share
 */
export async function createBudget(
  context: ActionContext,
  { accountId, idempotencyKey: key }: Actor,
  input: BudgetInput,
): Promise<IdempotentResult<SavedBudget>> {
  const { db, clock } = context
  const now = clock.now()
  const reader = accountReader(accountId)
  const once = { accountId, key, action: 'budgets.create', input }
  const read = (id: string) => ({
    budget: selectBudget({ id, now, reader }),
    paidModel: selectPaidModel({ id }),
  })
  const done = await runOrReturnStored(db, once, async () => {
    const budget = await composeBudget(db, input, clock.newId())
    const statements = {
      created: createBudgetStatements(budget, now),
      entry: recordAdminAction(context, accountId, {
        ...toTarget('budget.create', budget.id),
        after: toSettings(budget),
      }),
      ...keepGuestsShare(clock, accountId, budget.id),
      ...read(budget.id),
    }
    const work = { now, answer: budget.id, statements }
    return runOnce(db, once, work).catch(async (error: unknown) => {
      await throwExcessOfGuests(db, toLimits(budget), error)
      return throwDuplicateBudget(db, budget, error)
    })
  })
  const { budget, paidModel } = done.results ?? (await batch(db, read(done.answer)))
  if (!budget) throw notFound('budget')
  const warnings = [
    ...(paidModel ? [] : listWarnings(budget)),
    ...warnOfLowering(done.results?.lowered ?? []),
  ]
  return { ...done, answer: { budget, warnings } }
}

const toTarget = (action: string, targetId: string) => ({ action, targetType: 'budget', targetId })

/** The settings of a budget, as the admin log keeps them. */
const toSettings = (budget: NewBudget | PageBudget): Record<string, unknown> => ({
  scope: budget.scope,
  scope_id: budget.scopeId,
  period: budget.period,
  limit_microusd: budget.limitMicrousd,
  limit_tokens: budget.limitTokens,
  warning_share: budget.warningShare,
  throttle_share: budget.throttleShare,
  critical_share: budget.criticalShare,
  allows_critical: budget.allowsCritical ?? false,
})

async function composeBudget(db: Db, input: BudgetInput, id: BudgetId): Promise<NewBudget> {
  return {
    id,
    scope: input.scope,
    scopeId: await findScopeId(db, input),
    period: input.period,
    resetDay: input.reset_day,
    timezone: input.timezone,
    limitMicrousd: input.limit_microusd ?? null,
    limitTokens: input.limit_tokens ?? null,
    ...fillThresholds(input),
    allowsCritical: input.allows_critical ?? false,
    madeBy: 'admin',
  }
}

/**
 * Returns the thresholds of an input, with the defaults of those that are absent.
 *
 * @throws VALIDATION for thresholds out of order
 */
function fillThresholds(input: BudgetInput): Thresholds {
  const given = Object.entries(readThresholds(input)).filter(([, share]) => share !== undefined)
  const shares: Thresholds = { ...defaultThresholds, ...Object.fromEntries(given) }
  if (!isOrdered(shares)) throw budgetErrors.thresholdOrder()
  return shares
}

/** Throws CONFLICT for a violated UNIQUE constraint of budgets, and any other error unchanged. */
async function throwDuplicateBudget(db: Db, budget: NewBudget, cause: unknown): Promise<never> {
  if (findFailedConstraint(cause) !== 'budgets.scope') throw cause
  const existing = await run(db, selectDuplicateBudget(budget))
  throw budgetErrors.duplicate(periodLabels[budget.period], existing?.id, cause)
}

/** Warns that no agent uses the model or provider: its name may be misspelt. */
function listWarnings({ scope }: PageBudget): ErrorDetail[] {
  if (scope !== 'model' && scope !== 'executor') return []
  const model = scope === 'model' ? 'this model' : 'a model of this provider'
  return [{ path: 'body.name', message: `No agent uses ${model} now. Check the name` }]
}

/** Returns the id of a named agent or community; the name of a provider or model is its id. */
async function findScopeId(db: Db, { scope, name = '' }: BudgetInput): Promise<string> {
  if (scope !== 'agent' && scope !== 'community' && scope !== 'requester') {
    return normalizeScopeId(name)
  }
  const found = await run(
    db,
    selectScopeId(scope, scope === 'community' ? withoutMark(name) : name),
  )
  if (!found) throw notFound(scope === 'requester' ? 'account' : scope)
  return found.id
}

/**
 * Updates limits and thresholds of a budget and returns it.
 *
 * @param by the admin
 * @throws NOT_FOUND, VALIDATION for thresholds out of order or more for guests than their share
 */
export async function changeBudget(
  context: ActionContext,
  by: AccountId,
  id: string,
  change: BudgetChange,
): Promise<SavedBudget> {
  const { db, clock, scheduler, defer } = context
  const now = clock.now()
  const reader = accountReader(by)
  const found = await run(db, selectBudget({ id, now, reader }))
  const { isUpdated, lowered, budget } = await batch(db, {
    isUpdated: updateBudget(id, change, now),
    entry: recordIfChanged(context, by, {
      ...toTarget('budget.change', id),
      ...(found && { before: toSettings(found) }),
      after: change,
    }),
    mark: markUpdatedBudget(id, change, now),
    ...keepGuestsShare(clock, by, id),
    budget: selectBudget({ id, now, reader }),
  }).catch(async (error: unknown) => {
    if (found) await throwExcessOfGuests(db, toLimits(found, change), error)
    throw error
  })
  if (!budget) throw notFound('budget')
  if (!isUpdated) throw budgetErrors.thresholdOrder()
  // the change may unpause exploration, so the sweep runs soon
  defer(scheduler.sweepNow())
  return { budget, warnings: warnOfLowering(lowered) }
}

/**
 * Deletes a budget and its counters; usage events stay. The last budget of the hub can't be deleted,
 * because agents can't spend without a budget. Nor can the limit of a definition, which readers of
 * the definition must be able to rely on, or the budget of guests beside a limit of the hub.
 *
 * @param by the admin
 * @throws NOT_FOUND, CONFLICT
 */
export async function removeBudget(
  context: ActionContext,
  by: AccountId,
  id: string,
): Promise<void> {
  const { db, clock } = context
  const reader = accountReader(by)
  const found = await run(db, selectBudget({ id, now: clock.now(), reader }))
  const { isDeleted, existing } = await batch(db, {
    isDeleted: deleteBudget(id),
    entry: recordIfChanged(context, by, {
      ...toTarget('budget.delete', id),
      ...(found && { before: toSettings(found) }),
    }),
    existing: selectBudget({ id, now: clock.now(), reader }),
    orphans: deleteOrphanedRows(id),
  })
  if (existing) throw toDeleteError(existing)
  if (!isDeleted) throw notFound('budget')
}

function toDeleteError({ madeBy, name, scope }: PageBudget): AppError {
  if (madeBy === 'definition') return budgetErrors.setByDefinition(name)
  return scope === 'guests' ? budgetErrors.guestsOfHub() : budgetErrors.lastOfHub()
}

/** Selects budgets that have windows for less than half of the time ahead. */
export const findExpiringBudgets = (now: number): Statement<ExpiringBudget[]> =>
  selectExpiringBudgets({ until: now + windowsAheadMs / 2 })

/**
 * Creates the windows of the next two months for the budgets that `findExpiringBudgets` selected. Takes
 * one round trip per chunk, and none when no budget is given. After a failure the next call finds the
 * remaining budgets again.
 */
export async function extendBudgetWindows(
  db: Db,
  expiring: ExpiringBudget[],
  now: number,
): Promise<void> {
  const windows = expiring.flatMap((budget) => composeWindows(budget, now, budget.endsAt ?? 0))
  for (let from = 0; from < windows.length; from += budgetLimits.windowsPerWrite) {
    const chunk = windows.slice(from, from + budgetLimits.windowsPerWrite)
    await batch(db, { windows: insertWindows(chunk, now) })
  }
}

/** Lists windows from the current one on, or from `after` where existing windows end later. */
const composeWindows = (
  budget: Period & { id: BudgetId },
  now: number,
  after = 0,
): BudgetWindow[] =>
  listWindows(budget, Math.max(now - windowsBehindMs, after), now + windowsAheadMs).map(
    (window) => ({ budgetId: budget.id, ...window }),
  )

/** Returns the statements that create a budget with its windows. */
const createBudgetStatements = (budget: NewBudget, now: number): Statement<void>[] => [
  insertBudget(budget, now),
  ...insertWindows(composeWindows(budget, now), now),
]

/**
 * Returns the statements that set the daily cost limit of an agent's definition, as a budget beside
 * those that admins create; run them in the batch of the action. Null removes the limit.
 *
 * @param limitMicrousd micro-dollars a day
 */
export const setDefinitionBudget = (
  agentId: AccountId,
  limitMicrousd: number | null,
  now: number,
): Statement<void>[] => {
  const limit = updateDefinitionLimit(agentId, limitMicrousd, now)
  if (limitMicrousd === null) return limit
  const budget: NewBudget = {
    ...defaultThresholds,
    id: `budget:agent:${agentId}` as BudgetId,
    scope: 'agent',
    scopeId: agentId,
    madeBy: 'definition',
    period: 'day',
    resetDay: 1,
    timezone: 'UTC',
    limitMicrousd,
    limitTokens: null,
  }
  return [...createBudgetStatements(budget, now), ...limit]
}
