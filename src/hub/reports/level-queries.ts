import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, number, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import { isRefusingSql, levelSql, neededSql } from '../budgets/levels'
import { isCurrentWindowSql } from '../budgets/scope-sql'
import { isPublicSql } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { budgetAccountWindows, budgetLevels, budgets, budgetWindows } from '../schema/budgets'
import { communities } from '../schema/communities'

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const l = alias(budgetLevels, 'l')
const v = alias(budgetAccountWindows, 'v')

const levelNowSql = levelSql(b, w, neededSql(b, w))

const changedFields = {
  id: b.id,
  scope: b.scope,
  scopeId: b.scopeId,
  /** Name of the agent or public community; null for other scopes: everybody reads the report. */
  name: sql<string | null>`coalesce(
    (SELECT name FROM ${accounts} WHERE id = ${b.scopeId} AND ${b.scope} = 'agent'),
    (SELECT name FROM ${communities} WHERE id = ${b.scopeId} AND ${b.scope} = 'community'
      AND ${isPublicSql(communities.id)}))`,
  period: b.period,
  limitMicrousd: b.limitMicrousd,
  limitTokens: b.limitTokens,
  spentMicrousd: w.spentMicrousd,
  spentTokens: w.spentTokens,
  startsAt: w.startsAt,
  endsAt: w.endsAt,
  /** Index of the level in `levels`. */
  level: number(levelNowSql),
  /** Critical, because it refused a call for which too little is left. */
  isRefusing: flag(isRefusingSql(b, w, neededSql(b, w))),
  reportedLevel: l.level,
  reportedStartsAt: l.startsAt,
  /** Time of the last change of the budget. */
  updatedAt: b.updatedAt,
  /** Whether tasks of critical priority can use the share above the critical threshold. */
  allowsCritical: b.allowsCritical,
}

/** A budget whose state differs from the last report about it. */
export type ChangedBudget = RowOf<typeof changedFields>

const selectChanged = prepare(({ now }: Params<{ now: number }>) =>
  manySql(
    changedFields,
    sql`FROM ${budgetLevels} ${l} CROSS JOIN ${budgets} ${b} ON ${b.id} = ${l.budgetId}
      CROSS JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, now)}
      WHERE (${l.isCrossed} = 1 OR ${l.level} > 0)
        AND (${l.isCrossed} = 1 OR ${l.level} <> ${levelNowSql} OR ${l.startsAt} <> ${w.startsAt})
      ORDER BY ${levelNowSql} DESC, ${b.id} LIMIT 100`,
  ),
)

/**
 * Selects budgets that changed since the last report: a threshold was crossed, a call was refused, a limit
 * was changed, or a new period started. Reads only budgets that have crossed a threshold before.
 */
export const selectChangedBudgets = (now: number): Statement<ChangedBudget[]> =>
  selectChanged({ now })

const usedUpFields = {
  id: b.id,
  scope: b.scope,
  /** Its name stays out of the report, which everybody reads. */
  accountId: v.accountId,
  period: b.period,
  startsAt: v.startsAt,
  endsAt: w.endsAt,
  limitMicrousd: b.limitMicrousd,
  limitTokens: b.limitTokens,
  spentMicrousd: v.spentMicrousd,
  spentTokens: v.spentTokens,
  /** Something is left, but too little for a call that was refused. */
  isRefusing: flag(isRefusingSql(b, v, v)),
  updatedAt: b.updatedAt,
}

/** An account that has used up the budget of its role, which is not reported yet. */
export type UsedUpAccount = RowOf<typeof usedUpFields>

/** Selects the accounts that have used up the budget of their role, or were refused a call, since the last report. */
export const selectUsedUpAccounts = prepare(() =>
  manySql(
    usedUpFields,
    sql`FROM ${budgetAccountWindows} ${v} INDEXED BY budget_account_windows_due CROSS JOIN ${budgets} ${b} ON ${b.id} = ${v.budgetId}
      CROSS JOIN ${budgetWindows} ${w} ON ${w.budgetId} = ${v.budgetId} AND ${w.startsAt} = ${v.startsAt}
      WHERE ${v.alert} = 'due' ORDER BY ${b.id}, ${v.startsAt}, ${v.accountId} LIMIT 100`,
  ),
)

/** Condition: a budget may have crossed a threshold, and has to be reported without waiting for a sweep. */
export const hasCrossedSql = flag(
  sql`EXISTS (SELECT 1 FROM ${budgetLevels} WHERE ${budgetLevels.isCrossed} = 1)
    OR EXISTS (SELECT 1 FROM ${budgetAccountWindows} WHERE ${budgetAccountWindows.alert} = 'due')`,
)

const updateLevels = prepare(({ budgets: list }: Params<{ budgets: string }>) =>
  write(
    updateSet(
      budgetLevels,
      {
        startsAt: sql`e.value ->> 'startsAt'`,
        level: sql`e.value ->> 'level'`,
        isCrossed: sql`0`,
      },
      sql`FROM json_each(${list}) e WHERE ${budgetLevels.budgetId} = e.value ->> 'id'`,
    ),
  ),
)

/** Stores the reported levels; runs in the same batch as the posts that report them. */
export const updateReportedLevels = (list: ChangedBudget[]): Statement<void> =>
  updateLevels({ budgets: JSON.stringify(list) })

const markSent = prepare(({ accounts: list }: Params<{ accounts: string }>) =>
  write(
    updateSet(
      budgetAccountWindows,
      { alert: sql`'sent'` },
      sql`FROM json_each(${list}) e WHERE ${budgetAccountWindows.budgetId} = e.value ->> 'id'
        AND ${budgetAccountWindows.startsAt} = e.value ->> 'startsAt'
        AND ${budgetAccountWindows.accountId} = e.value ->> 'accountId' AND ${budgetAccountWindows.alert} = 'due'`,
    ),
  ),
)

/** Stores that the accounts are reported; runs in the same batch as the posts that report them. */
export const markReported = (list: UsedUpAccount[]): Statement<void> =>
  markSent({ accounts: JSON.stringify(list) })
