import { and, eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import {
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import type { BudgetId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import {
  budgetAccountWindows,
  budgetLevels,
  budgetRefusals,
  budgets,
  budgetWindows,
} from '../schema/budgets'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { roleBudget, updateAlerts } from './account-window-queries'
import { changedBudget, markChanged } from './crossing-queries'
import { type BudgetChange, readThresholds } from './inputs'
import { type LimitColumns, thresholds } from './levels'
import type { NewBudget } from './queries'
import { agentModelsSql, noRequestersSql, paysForSql, spenderOf } from './scope-sql'

/** Selects the existing budget with the same scope, period and creator as a new one. */
export const selectDuplicateBudget = ({
  scope,
  scopeId,
  period,
  madeBy,
}: Pick<NewBudget, 'scope' | 'scopeId' | 'period' | 'madeBy'>): Statement<
  { id: BudgetId } | undefined
> =>
  one(
    orm
      .select({ id: budgets.id })
      .from(budgets)
      .where(
        and(
          eq(budgets.scope, scope),
          eq(budgets.scopeId, scopeId),
          eq(budgets.period, period),
          eq(budgets.madeBy, madeBy),
        ),
      ),
  )

/** Returns a row when the budget pays for a model that some agent uses. */
export const selectPaidModel = prepare(({ id }: Params<{ id: string }>) => {
  const b = alias(budgets, 'b')
  const g = alias(agents, 'g')
  return oneSql(
    { id: b.id },
    sql`FROM ${budgets} ${b} CROSS JOIN (
        SELECT ${g.accountId} AS agent_id, NULL AS community_id, ${agentModelsSql(g)} AS models, ${noRequestersSql}
        FROM ${agents} ${g}) ask
      WHERE ${b.id} = ${id} AND ${paysForSql(b, spenderOf('ask'))} LIMIT 1`,
  )
})

export const selectScopeId = (
  scope: 'agent' | 'community' | 'requester',
  name: string,
): Statement<{ id: string } | undefined> =>
  scope !== 'community'
    ? one(
        orm
          .select({ id: accounts.id })
          .from(accounts)
          .where(
            and(
              eq(accounts.name, name),
              scope === 'agent' ? eq(accounts.kind, 'agent') : undefined,
            ),
          ),
      )
    : one(orm.select({ id: communities.id }).from(communities).where(eq(communities.name, name)))

/** Condition: the thresholds of `b` are in order once `change` is applied. */
function isOrderedSql(b: LimitColumns, change: BudgetChange): SQL {
  const shares = readThresholds(change)
  const values = thresholds.map((each) => sql`${shares[`${each}Share`] ?? b[`${each}Share`]}`)
  const pairs = values.slice(1).map((value, at) => sql`${values[at]} <= ${value}`)
  return sql.join(pairs, sql` AND `)
}

/**
 * Updates the given fields; absent ones stay. Answers false when the budget is missing or the thresholds
 * would be out of order.
 */
export const updateBudget = (id: string, change: BudgetChange, now: number): Statement<boolean> =>
  writeChanges(
    orm
      .update(budgets)
      .set({
        limitMicrousd: change.limit_microusd,
        limitTokens: change.limit_tokens,
        ...readThresholds(change),
        allowsCritical: change.allows_critical,
        updatedAt: now,
      })
      .where(sql`${budgets.id} = ${id} AND ${isOrderedSql(budgets, change)}`),
  )

/** Marks a budget and its accounts for the next report, unless `updateBudget` refused the change. */
export const markUpdatedBudget = (
  id: string,
  change: BudgetChange,
  now: number,
): Statement<void>[] => [
  markChanged(sql`${changedBudget.id} = ${id} AND ${isOrderedSql(changedBudget, change)}`),
  updateAlerts({ at: sql`${now}`, condition: () => sql`${roleBudget.id} = ${id}` }),
]

/**
 * Deletes a budget, unless it is the hub's last one, a definition's limit or the share of guests in a
 * limit of the hub; answers whether.
 */
export const deleteBudget = (id: string): Statement<boolean> =>
  writeChanges(
    orm.delete(budgets).where(
      sql`${budgets.id} = ${id}
          AND (${budgets.scope} <> 'hub' OR (SELECT count(*) FROM budgets h WHERE h.scope = 'hub') > 1)
          AND (${budgets.scope} <> 'guests' OR NOT EXISTS (SELECT 1 FROM budgets h WHERE h.scope = 'hub'
            AND h.period = ${budgets.period} AND coalesce(h.limit_microusd, h.limit_tokens) IS NOT NULL))
          AND (${budgets.madeBy} <> 'definition' OR ${budgets.limitMicrousd} IS NULL)`,
    ),
  )

/** Deletes the counters, reported levels and refusals of a deleted budget. */
export const deleteOrphanedRows = (id: string): Statement<void>[] =>
  [budgetWindows, budgetLevels, budgetAccountWindows, budgetRefusals].map((table) =>
    write(
      orm
        .delete(table)
        .where(
          sql`${table.budgetId} = ${id} AND NOT EXISTS (SELECT 1 FROM ${budgets} WHERE ${budgets.id} = ${id})`,
        ),
    ),
  )
