import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { budgetLimits } from '../../shared/config'
import { number, type RowOf } from '../../shared/db/fields'
import { manySql, prepare, type Statement, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { usageArchivedBeforeSql } from '../archive/queries'
import { budgetAccountWindows, budgets, budgetWindows } from '../schema/budgets'
import { accountSumsSql, usageCalls, writeAccountSums } from './account-window-queries'
import { lastStartSql } from './crossing-queries'
import { resetCounted } from './requester-queries'
import { paysForSql, shareSql, spenderOf, usageSpendersSql } from './scope-sql'

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const v = alias(budgetAccountWindows, 'v')

/**
 * The windows `d` whose counters differ from the usage events: those of budgets, and those of accounts in
 * budgets of their roles. An event counts for each budget that pays for it, in the last window that
 * started before the event, as when the event was settled. Windows whose events are archived are left out.
 */
const differencesSql = sql`(SELECT * FROM (
  SELECT ${w.budgetId} AS budget_id, NULL AS account_id, ${w.startsAt} AS starts_at,
    ${w.spentMicrousd} AS counted_microusd, ${w.spentTokens} AS counted_tokens,
    coalesce(e.microusd, 0) AS microusd, coalesce(e.tokens, 0) AS tokens
  FROM ${budgetWindows} ${w} LEFT JOIN (
    SELECT ${b.id} AS budget_id, ${lastStartSql(b.id, sql`u.created_at`)} AS starts_at,
      sum(${shareSql(b, spenderOf('u'), sql`u.cost_microusd`)}) AS microusd,
      sum(${shareSql(b, spenderOf('u'), sql`(u.input_tokens + u.output_tokens)`)}) AS tokens
    FROM ${usageSpendersSql} u CROSS JOIN ${budgets} ${b} ON ${paysForSql(b, spenderOf('u'))}
    GROUP BY 1, 2) e ON e.budget_id = ${w.budgetId} AND e.starts_at = ${w.startsAt}
  WHERE ${w.spentMicrousd} <> coalesce(e.microusd, 0) OR ${w.spentTokens} <> coalesce(e.tokens, 0)
  UNION ALL
  SELECT coalesce(${v.budgetId}, e.budget_id), coalesce(${v.accountId}, e.account_id),
    coalesce(${v.startsAt}, e.starts_at), coalesce(${v.spentMicrousd}, 0), coalesce(${v.spentTokens}, 0),
    coalesce(e.microusd, 0), coalesce(e.tokens, 0)
  FROM ${budgetAccountWindows} ${v} FULL JOIN (${accountSumsSql(sql`${usageSpendersSql} u`, usageCalls)}) e
    ON e.budget_id = ${v.budgetId} AND e.starts_at = ${v.startsAt} AND e.account_id = ${v.accountId}
  WHERE coalesce(${v.spentMicrousd}, 0) <> coalesce(e.microusd, 0)
    OR coalesce(${v.spentTokens}, 0) <> coalesce(e.tokens, 0)) a
  WHERE a.starts_at >= ${usageArchivedBeforeSql}) d`

const differenceFields = {
  budgetId: b.id,
  scope: b.scope,
  scopeId: b.scopeId,
  /** Of the account that has the window, in a budget of its role; else null. */
  accountId: sql<AccountId | null>`d.account_id`,
  startsAt: w.startsAt,
  endsAt: w.endsAt,
  countedMicrousd: number(sql`d.counted_microusd`),
  countedTokens: number(sql`d.counted_tokens`),
  eventsMicrousd: number(sql`d.microusd`),
  eventsTokens: number(sql`d.tokens`),
}

/** A window whose counters differ from the usage events. */
export type WindowDifference = RowOf<typeof differenceFields>

export const selectDifferences = prepare(() =>
  manySql(
    differenceFields,
    sql`FROM ${differencesSql} JOIN ${budgets} ${b} ON ${b.id} = d.budget_id
      JOIN ${budgetWindows} ${w} ON ${w.budgetId} = ${b.id} AND ${w.startsAt} = d.starts_at
      ORDER BY ${b.id}, ${w.startsAt}, d.account_id LIMIT ${sql.raw(String(budgetLimits.differencesMax))}`,
  ),
)

const repairBudgetWindows = prepare(() =>
  write(
    updateSet(
      budgetWindows,
      { spentMicrousd: sql`d.microusd`, spentTokens: sql`d.tokens` },
      sql`FROM ${differencesSql}
        WHERE ${budgetWindows.budgetId} = d.budget_id AND ${budgetWindows.startsAt} = d.starts_at
          AND d.account_id IS NULL`,
    ),
  ),
)

const repairAccountWindows = prepare(() =>
  writeAccountSums(
    sql`SELECT d.budget_id, d.account_id, d.starts_at, d.microusd, d.tokens
      FROM ${differencesSql} WHERE d.account_id IS NOT NULL`,
    'set',
  ),
)

/**
 * Overwrites differing counters with the sums of the usage events at execution time. Spending by requester is
 * counted again by the next sweep.
 */
export const repairWindows = (): Statement<void>[] => [
  repairBudgetWindows({}),
  repairAccountWindows({}),
  ...resetCounted(),
]
