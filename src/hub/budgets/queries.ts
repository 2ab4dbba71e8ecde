import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { budgetLimits } from '../../shared/config'
import { nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, BudgetId } from '../../shared/ids'
import { activations } from '../schema/activations'
import { budgets, budgetWindows } from '../schema/budgets'
import { agents } from '../schema/definitions'
import { recountAccounts, roleBudget, updateAlerts } from './account-window-queries'
import type { Window } from './calendar'
import { changedBudget, markChanged, markCrossed } from './crossing-queries'
import { neededSql } from './levels'
import { currentWindowSql, levelFields, statusFields } from './page-queries'
import {
  holder,
  isLimitingSql,
  joinAccountWindowSql,
  joinHoldersSql,
  neededBySql,
  spentBy,
} from './payers-sql'
import {
  agentModelsSql,
  mayPayForSql,
  paysForSql,
  reservedSql,
  shareSql,
  spenderOf,
  usageSpendersSql,
} from './scope-sql'

/** A new budget with its limits and thresholds. */
export type NewBudget = Omit<typeof budgets.$inferInsert, 'createdAt' | 'updatedAt'> &
  Pick<typeof budgets.$inferSelect, 'scopeId' | 'madeBy' | 'resetDay' | 'timezone'>

/**
 * Inserts a budget. Scope, period and creator are unique: a duplicate by an admin fails with a UNIQUE
 * error, a duplicate by a definition leaves the existing budget unchanged.
 */
export function insertBudget(budget: NewBudget, now: number): Statement<void> {
  const insert = orm.insert(budgets).values({ ...budget, createdAt: now, updatedAt: now })
  return write(budget.madeBy === 'definition' ? insert.onConflictDoNothing() : insert)
}

/** Sets the limit of an agent's definition, in micro-dollars; null removes it. */
export const updateDefinitionLimit = (
  agentId: AccountId,
  limitMicrousd: number | null,
  now: number,
): Statement<void>[] => {
  const isLimitOf = (b: Record<'scope' | 'scopeId' | 'madeBy', SQLWrapper>): SQL =>
    sql`${b.scope} = 'agent' AND ${b.scopeId} = ${agentId} AND ${b.madeBy} = 'definition'`
  return [
    write(orm.update(budgets).set({ limitMicrousd, updatedAt: now }).where(isLimitOf(budgets))),
    markChanged(isLimitOf(changedBudget)),
  ]
}

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')

const expiringFields = {
  id: b.id,
  period: b.period,
  resetDay: b.resetDay,
  timezone: b.timezone,
  /** End of the last window; null without one. */
  endsAt: nullable(sql<number>`b.ends_at`),
}

/** A budget that needs new windows. */
export type ExpiringBudget = RowOf<typeof expiringFields>

/**
 * Selects budgets whose last window ends before `until`, at most as many as one sweep extends. Budgets
 * shared by several agents come first, then those that end soonest. Reads one window per budget.
 */
export const selectExpiringBudgets = prepare(({ until }: Params<{ until: number }>) =>
  manySql(
    expiringFields,
    sql`FROM (
        SELECT e.*, (SELECT ${w.endsAt} FROM ${budgetWindows} ${w} WHERE ${w.budgetId} = e.id
          ORDER BY ${w.startsAt} DESC LIMIT 1) AS ends_at
        FROM ${budgets} e) ${b}
      WHERE coalesce(b.ends_at, 0) < ${until}
      ORDER BY ${b.scope} = 'agent', b.ends_at LIMIT ${sql.raw(String(budgetLimits.extendedPerSweep))}`,
  ),
)

export type BudgetWindow = Window & { budgetId: BudgetId }

/** Marks a new window until the next statement sums its usage. */
const uncounted = sql.raw('-1')

const insertMissing = prepare(({ windows, now }: Params<{ windows: string; now: number }>) =>
  write(
    insertSelect(
      budgetWindows,
      {
        budgetId: b.id,
        startsAt: sql`n.value ->> 'startsAt'`,
        endsAt: sql`n.value ->> 'endsAt'`,
        spentTokens: sql`iif(n.value ->> 'startsAt' <= ${now}, ${uncounted}, 0)`,
      },
      sql`FROM json_each(${windows}) n CROSS JOIN ${budgets} ${b} ON ${b.id} = n.value ->> 'budgetId'`,
      { verb: 'INSERT OR IGNORE' },
    ),
  ),
)

/** Condition: the window `w` waits for its count, or the next one does. */
const isRecountedSql = sql`(${w.spentTokens} = ${uncounted} OR EXISTS (
  SELECT 1 FROM ${budgetWindows} n WHERE n.budget_id = ${w.budgetId} AND n.spent_tokens = ${uncounted}
    AND n.starts_at = ${nextStartSql()}))`

/** The start of the window after `w`. */
function nextStartSql(): SQL {
  return sql`(SELECT min(a.starts_at) FROM ${budgetWindows} a
    WHERE a.budget_id = ${w.budgetId} AND a.starts_at > ${w.startsAt})`
}

/** Condition: the window `w` is recounted, and its budget is among those of `windows`. */
const isListedSql = (windows: SQLWrapper | string): SQL =>
  sql`${w.budgetId} IN (SELECT value ->> 'budgetId' FROM json_each(${windows})) AND ${isRecountedSql}`

/** Sums usage events in the windows of `windows` that are recounted. A window lasts until the next starts. */
const recountWindows = prepare(({ windows }: Params<{ windows: string }>) =>
  write(
    updateSet(
      budgetWindows,
      { spentMicrousd: sql`new.microusd`, spentTokens: sql`new.tokens` },
      sql`FROM (
          SELECT ${w.budgetId} AS budget_id, ${w.startsAt} AS starts_at,
            coalesce(sum(${shareSql(b, spenderOf('u'), sql`u.cost_microusd`)}), 0) AS microusd,
            coalesce(sum(${shareSql(b, spenderOf('u'), sql`(u.input_tokens + u.output_tokens)`)}), 0) AS tokens
          FROM ${budgetWindows} ${w} CROSS JOIN ${budgets} ${b} ON ${b.id} = ${w.budgetId}
          LEFT JOIN ${usageSpendersSql} u ON u.created_at >= ${w.startsAt}
            AND u.created_at < coalesce(${nextStartSql()}, ${sql.raw(String(Number.MAX_SAFE_INTEGER))})
            AND ${paysForSql(b, spenderOf('u'))}
          WHERE ${isListedSql(windows)}
          GROUP BY ${w.budgetId}, ${w.startsAt}) AS new
        WHERE ${budgetWindows.budgetId} = new.budget_id AND ${budgetWindows.startsAt} = new.starts_at`,
    ),
  ),
)

const markRecounted = prepare(({ windows, now }: Params<{ windows: string; now: number }>) =>
  markCrossed({
    condition: sql`${changedBudget.id} IN (SELECT value ->> 'budgetId' FROM json_each(${windows}))`,
    at: sql`${now}`,
  }),
)

/**
 * Returns the statements that insert missing windows of existing budgets; run them in one batch. The
 * usage since the start of each new window is counted, so a new budget counts from the start of its
 * period. The window before a new one is recounted, because it ends where the new one starts.
 */
export function insertWindows(list: BudgetWindow[], now: number): Statement<void>[] {
  const windows = JSON.stringify(list)
  return [
    insertMissing({ windows, now }),
    ...recountAccounts(usageSpendersSql, isListedSql(windows)),
    recountWindows({ windows }),
    markRecounted({ windows, now }),
    updateAlerts({
      at: sql`${now}`,
      condition: () =>
        sql`${roleBudget.id} IN (SELECT value ->> 'budgetId' FROM json_each(${windows}))`,
    }),
  ]
}

const spentOfHolder = spentBy(w)

const scopedFields = {
  ...statusFields,
  /** An account id for a budget of a role. */
  scopeId: sql<string>`coalesce(${holder.id}, ${b.scopeId})`,
  spentMicrousd: number(sql`coalesce(${spentOfHolder.spentMicrousd}, 0)`),
  spentTokens: number(sql`coalesce(${spentOfHolder.spentTokens}, 0)`),
  ...levelFields({ ...spentOfHolder, budgetId: w.budgetId }, neededBySql(neededSql(b, w))),
  reservedMicrousd: number(reservedSql(b, 'reservedMicrousd', { byHolder: true })),
  reservedTokens: number(reservedSql(b, 'reservedTokens', { byHolder: true })),
  endsAt: number(sql`coalesce(${w.endsAt}, 0)`),
}

/** A budget as an agent sees it. */
export type BudgetRow = RowOf<typeof scopedFields>

const selectScoped = prepare(
  ({ agentId, now }: Params<{ agentId: AccountId | ''; now: number }>) => {
    const g = alias(agents, 'g')
    const x = alias(activations, 'x')
    return manySql(
      scopedFields,
      sql`FROM (SELECT me.id AS agent_id, ${x.communityId} AS community_id,
        coalesce(${x.models}, ${agentModelsSql(g)}, '[]') AS models,
        coalesce(${x.requesters}, '[]') AS requesters, coalesce(${x.payers}, '{}') AS payers,
        coalesce(${x.isForGuest}, 0) AS is_for_guest
      FROM (SELECT ${agentId} AS id) me LEFT JOIN ${agents} ${g} ON ${g.accountId} = me.id
      LEFT JOIN ${activations} ${x} ON ${x.agentId} = me.id AND ${x.state} = 'running') ask
    CROSS JOIN ${budgets} ${b} ON ${mayPayForSql(b, spenderOf('ask'))}
    ${joinHoldersSql(b, spenderOf('ask').payers)}
    ${currentWindowSql(now)}
    ${joinAccountWindowSql(w)}
    WHERE ${isLimitingSql(b)}
    ORDER BY ${b.scope} <> 'hub', ${b.scope}, ${b.scopeId}, ${b.id}, ${holder.id}`,
    )
  },
)

/**
 * Selects the budgets that an agent spends from, with spending in the current window and reservations
 * of running activations. These are the budgets of its running activation, or of any that it could
 * start when none runs.
 */
export const selectBudgetsInScope = (
  agentId: AccountId | '',
  now: number,
): Statement<BudgetRow[]> => selectScoped({ agentId, now })
