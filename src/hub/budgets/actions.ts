import { budgetLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { Statement } from '../../shared/db/statement'
import { AppError, type ErrorDetail, notFound } from '../../shared/errors'
import { formatCount, formatMoney } from '../../shared/format'
import type { AccountId, BudgetId, Clock } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import type { Actor, AuditEntry } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction, recordIfChanged } from '../database/admin-log-queries'
import { findFailedConstraint } from '../database/constraint-errors'
import {
  type IdempotentResult,
  runActionOnce,
  runOnce,
  runOrReturnStored,
} from '../database/run-once'
import { toColumnName } from '../http/answers'
import { insertAuditEntry } from '../operations/audit-queries'
import { isOrdered } from '../rules/budget-levels'
import { withoutMark } from '../rules/places'
import { defaultThresholds } from '../schema/budgets'
import { accountReader } from '../viewers/reader'
import { listWindows, type Period, windowsAheadMs, windowsBehindMs } from './forecast'
import {
  type BudgetChange,
  type BudgetInput,
  normalizeScopeId,
  settings,
  toColumns,
} from './inputs'
import { type PageBudget, selectBudget } from './page-queries'
import {
  type BudgetWindow,
  deleteBudget,
  deleteOrphanedRows,
  type ExpiringBudget,
  insertBudget,
  insertWindows,
  markUpdatedBudget,
  type NewBudget,
  selectDuplicateBudget,
  selectExpiringBudgets,
  selectPaidModel,
  selectScopeId,
  updateBudget,
  updateDefinitionLimit,
} from './queries'
import {
  type GuestsShare,
  guardGuestsShare,
  guestsShareConstraint,
  lowerGuestsLimits,
  markLowered,
  recordLowering,
  selectGuestsShares,
  selectLowered,
} from './requester-queries'
import { repairWindows, selectDifferences, type WindowDifference } from './usage-queries'
import { periodLabels } from './usage-view'

const limitsOfGuests = [
  {
    limit: 'limitMicrousd',
    path: 'body.limit_microusd',
    format: (most: number) => `${formatMoney(most, 'budget')} (${most} micro-dollars)`,
  },
  {
    limit: 'limitTokens',
    path: 'body.limit_tokens',
    format: (most: number) => `${formatCount(most)} tokens`,
  },
] as const

/** Names the highest amount of each limit that exceeds it: the least of `shares`. */
const listExcess = (shares: GuestsShare[], wanted: GuestsShare): ErrorDetail[] =>
  limitsOfGuests.flatMap(({ limit, path, format }) => {
    const [tightest] = shares
      .flatMap(({ period, [limit]: most }) => (most === null ? [] : [{ period, most }]))
      .toSorted((one, other) => one.most - other.most)
    const asked = wanted[limit]
    if (!tightest || (asked !== null && asked <= tightest.most)) return []
    const of = `a tenth of the hub’s ${periodLabels[tightest.period]} budget`
    return [{ path, message: `At most ${format(tightest.most)}, ${of}` }]
  })

/** Errors of budgets, as users read them. */
export const budgetErrors = {
  unknownWindow: () => notFound('window', 'Choose one of those that the budgets list.'),
  thresholdOrder: () =>
    new AppError('VALIDATION', 'Thresholds must be in order: warning, throttle, critical.', {
      hint: 'warning_share must not exceed throttle_share, nor throttle_share critical_share.',
    }),
  duplicate: (period: string, id: string | undefined, cause: unknown) =>
    new AppError('CONFLICT', `A ${period} budget for this scope already exists.`, {
      hint: `Edit that budget${id === undefined ? '' : ` (${id})`}, or choose another period.`,
      cause,
    }),
  setByDefinition: (agent: string | null) =>
    new AppError('CONFLICT', `The definition of ${agent ?? 'the agent'} sets this limit.`, {
      hint: 'Remove `brain.max_cost_per_day` from the definition, or change it there.',
    }),
  lastOfHub: () =>
    new AppError('CONFLICT', "You can't delete the hub's last budget.", {
      hint: 'Remove the limits of this budget instead.',
    }),
  overGuestsShare: (shares: GuestsShare[], wanted: GuestsShare, cause: unknown) =>
    new AppError('VALIDATION', 'All guests together get at most a tenth of the hub’s budget.', {
      details: listExcess(shares, wanted),
      hint: 'Lower this limit, or raise the hub’s limit first.',
      cause,
    }),
  guestsOfHub: () =>
    new AppError('CONFLICT', "You can't delete the budget of guests.", {
      hint: 'Guests get at most a tenth of the hub’s budget. Set the limit to 0 to refuse guests.',
    }),
  timeRange: () =>
    new AppError('VALIDATION', 'The time range ends before it starts.', {
      details: [{ path: 'query.from', message: 'Must not be after `to`' }],
    }),
  signIn: () => new AppError('UNAUTHORIZED', 'Sign in to edit budgets.'),
  adminOnly: () =>
    new AppError('FORBIDDEN', 'Only admins can edit budgets.', {
      hint: 'Ask an admin of this hub.',
    }),
}

/**
 * Returns the statements that keep guests to a tenth of each budget of the hub of the same or a longer
 * period; run them in the batch that writes the budget `id`, after the write. A higher limit of guests
 * fails the batch; a lower limit of the hub lowers those of guests.
 */
const keepGuestsShare = (clock: Clock, by: AccountId, id: string) => ({
  lowering: recordLowering({
    hubId: id,
    entryIds: { day: clock.newId(), week: clock.newId(), month: clock.newId() },
    by,
    now: clock.now(),
  }),
  lowered: selectLowered(id),
  lower: lowerGuestsLimits(id, clock.now()),
  markLowered: markLowered(id),
  guestsGuard: guardGuestsShare(id),
})

/**
 * Throws VALIDATION with the highest amounts when `keepGuestsShare` failed the write of `wanted`;
 * else nothing.
 */
async function throwExcessOfGuests(db: Db, wanted: GuestsShare, cause: unknown): Promise<void> {
  if (findFailedConstraint(cause) !== guestsShareConstraint) return
  const shares = await run(db, selectGuestsShares(wanted.period))
  throw budgetErrors.overGuestsShare(shares, wanted, cause)
}

/** Warns of each budget of guests that was lowered. */
const warnOfLowering = (lowered: readonly Pick<GuestsShare, 'period'>[]): ErrorDetail[] =>
  lowered.map(({ period }) => ({
    path: 'body',
    message: `The ${periodLabels[period]} budget of guests was lowered to a tenth of the hub’s`,
  }))

type Limit = number | null | undefined
const pickLimit = (changed: Limit, stored: Limit) =>
  (changed === undefined ? stored : changed) ?? null

/** The limits of a budget after a change. */
const toLimits = (
  budget: Pick<NewBudget, keyof GuestsShare>,
  change: BudgetChange = {},
): GuestsShare => ({
  period: budget.period,
  limitMicrousd: pickLimit(change.limit_microusd, budget.limitMicrousd),
  limitTokens: pickLimit(change.limit_tokens, budget.limitTokens),
})

/** Returns the windows whose counters differ from the usage events, at most `differencesMax`. */
export const auditBudgets = ({ db }: ActionContext): Promise<WindowDifference[]> =>
  run(db, selectDifferences({}))

/**
 * Corrects the counters from the usage events and returns the corrected windows. The audit entry
 * holds the previous counters. Changes nothing when all counters agree.
 */
export function repairBudgets(
  context: ActionContext,
  actor: Actor,
): Promise<IdempotentResult<WindowDifference[]>> {
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'budgets.repair', input: null }
  return runActionOnce(context.db, once, context.clock.now(), () => repair(context, accountId))
}

async function repair(context: ActionContext, accountId: AccountId): Promise<WindowDifference[]> {
  const { db, clock } = context
  const differences = await auditBudgets(context)
  const recorded = recordAdminAction(context, accountId, {
    action: 'budget.repair',
    targetType: 'hub',
    targetId: 'budgets',
    after: { repaired: differences.length },
  })
  if (differences.length === 0) {
    await run(db, recorded)
    return []
  }
  const id = clock.newId()
  const text = JSON.stringify({ before: differences })
  const now = clock.now()
  const entry: AuditEntry = {
    callId: id,
    tool: 'budget_repair',
    grant: 'hub:admin',
    arguments: text,
    at: now,
    argumentsHash: await sha256(text),
    decision: 'allowed',
    outcome: 'ok',
    durationMs: null,
    resultBytes: null,
  }
  await batch(db, {
    entry: insertAuditEntry(id, accountId, entry, null),
    recorded,
    repair: repairWindows(),
  })
  return differences
}

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
  ...Object.fromEntries(settings.map((each) => [each, budget[toColumnName(each)] ?? null])),
})

/** @throws NOT_FOUND for an unknown name, VALIDATION for thresholds out of order */
async function composeBudget(db: Db, input: BudgetInput, id: BudgetId): Promise<NewBudget> {
  const columns = {
    limitMicrousd: null,
    limitTokens: null,
    ...defaultThresholds,
    allowsCritical: false,
    ...toColumns(input),
  }
  if (!isOrdered(columns)) throw budgetErrors.thresholdOrder()
  return {
    ...columns,
    id,
    scope: input.scope,
    scopeId: await findScopeId(db, input),
    period: input.period,
    resetDay: input.reset_day,
    timezone: input.timezone,
    madeBy: 'admin',
  }
}

/** Throws CONFLICT for a violated UNIQUE constraint of budgets, and any other error unchanged. */
async function throwDuplicateBudget(db: Db, budget: NewBudget, cause: unknown): Promise<never> {
  if (findFailedConstraint(cause) !== 'budgets.scope') throw cause
  const existing = await run(db, selectDuplicateBudget(budget))
  throw budgetErrors.duplicate(periodLabels[budget.period], existing?.id, cause)
}

/** Warns that no agent uses the model or provider: its name may be misspelt. */
function listWarnings({ scope }: PageBudget): ErrorDetail[] {
  if (scope !== 'model' && scope !== 'provider') return []
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
