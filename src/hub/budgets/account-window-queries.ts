import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Statement, write } from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import { activations } from '../schema/activations'
import { budgetAccountWindows, budgets, budgetWindows } from '../schema/budgets'
import { lastStartSql } from './crossing-queries'
import { isTooLittleSql } from './levels'
import {
  hasOwnBudgetSql,
  holder,
  holdsForSql,
  isRoleScopeSql,
  partOfAccountSql,
} from './payers-sql'

/*
 * The windows that each account has in a budget of its role. They count whatever the account spends while
 * it has the role; whether the limit holds for it is decided when money is reserved.
 */

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const v = alias(budgetAccountWindows, 'v')
const x = alias(activations, 'x')

/** Usage to sum, as a table `c` of `FROM`: its calls with their payers, time, cost and tokens. */
type Calls = Record<'requesters' | 'payers' | 'at' | 'microusd' | 'tokens', SQL>

/** The columns of `usageSpendersSql u`. */
export const usageCalls: Calls = {
  requesters: sql.raw('u.requesters'),
  payers: sql.raw('u.payers'),
  at: sql.raw('u.created_at'),
  microusd: sql.raw('u.cost_microusd'),
  tokens: sql.raw('(u.input_tokens + u.output_tokens)'),
}

/**
 * Selects what each payer of `calls` pays from the budgets of its role: `budget_id`, `starts_at`,
 * `account_id`, `microusd` and `tokens`. Reads one row on a hub without such budgets: the plus before the
 * id keeps SQLite from reading all budgets in the order of the groups.
 *
 * @param from the table of the calls
 */
export const accountSumsSql = (from: SQL, calls: Calls, condition = sql`1`): SQL => sql`
  SELECT +${b.id} AS budget_id, ${lastStartSql(b.id, calls.at)} AS starts_at, ${holder.id} AS account_id,
    sum(${partOfAccountSql(calls, holder.id, calls.microusd)}) AS microusd,
    sum(${partOfAccountSql(calls, holder.id, calls.tokens)}) AS tokens
  FROM ${budgets} ${b} CROSS JOIN ${from} CROSS JOIN json_each(${calls.payers}) h ON ${holdsForSql(b)}
  WHERE ${isRoleScopeSql(b)} AND ${condition}
  GROUP BY 1, 2, 3 HAVING starts_at IS NOT NULL`

/** Adds or sets the sums of `accountSumsSql`. */
export const writeAccountSums = (sums: SQL, mode: 'add' | 'set'): Statement<void> => {
  const { spentMicrousd, spentTokens } = budgetAccountWindows
  const stored = (column: typeof spentMicrousd | typeof spentTokens) =>
    mode === 'add' ? sql`${column} + ` : sql``
  return write(
    insertSelect(
      budgetAccountWindows,
      {
        budgetId: sql`n.budget_id`,
        startsAt: sql`n.starts_at`,
        accountId: sql`n.account_id`,
        spentMicrousd: sql`n.microusd`,
        spentTokens: sql`n.tokens`,
      },
      sql`FROM (${sums}) n WHERE true ON CONFLICT (budget_id, starts_at, account_id) DO UPDATE SET
        ${bare(spentMicrousd)} = ${stored(spentMicrousd)}excluded.${bare(spentMicrousd)},
        ${bare(spentTokens)} = ${stored(spentTokens)}excluded.${bare(spentTokens)}`,
    ),
  )
}

/** A budget of a role in the conditions of `updateAlerts`. */
export const roleBudget = b

/** The windows of the payers of a running activation, for `updateAlerts`; its row is `x`. */
export const payersOfRun = (activationId: SQLWrapper) => ({
  from: sql`${activations} ${x}`,
  condition: (accountId: SQLWrapper) => sql`${x.id} = ${activationId} AND ${x.state} = 'running'
    AND ${accountId} IN (SELECT key FROM json_each(${x.payers}))`,
})

/**
 * Marks accounts for which a budget of their role has nothing left, or too little for a call, for the next
 * report, and unmarks those for which it has enough; runs after their windows or the limit were changed.
 *
 * @param of the windows to look at, as conditions on `roleBudget` and on the window's account
 */
export const updateAlerts = (of: {
  from?: SQL
  at: SQLWrapper
  condition: (accountId: SQLWrapper) => SQL
}): Statement<void> =>
  write(
    updateSet(
      budgetAccountWindows,
      { alert: sql`iif(n.is_used_up, 'due', 'none')` },
      sql`FROM (
          SELECT ${v.budgetId}, ${v.startsAt}, ${v.accountId}, ${v.alert},
            ${isTooLittleSql(b, v, v)} AND NOT ${hasOwnBudgetSql(v.accountId)} AS is_used_up
          FROM ${budgets} ${b} ${of.from ? sql`CROSS JOIN ${of.from}` : undefined}
          CROSS JOIN ${budgetAccountWindows} ${v} ON ${v.budgetId} = ${b.id} AND ${v.startsAt} = ${lastStartSql(b.id, of.at)}
            AND ${of.condition(v.accountId)}
          WHERE ${isRoleScopeSql(b)}) n
        WHERE ${budgetAccountWindows.budgetId} = n.budget_id AND ${budgetAccountWindows.startsAt} = n.starts_at
          AND ${budgetAccountWindows.accountId} = n.account_id AND n.is_used_up = (n.alert = 'none')`,
    ),
  )

/**
 * Counts the accounts again in the windows of budgets of a role that are recounted.
 *
 * @param usage a table `u` of usage events as spenders
 * @param isRecounted condition on the window `w`
 */
export const recountAccounts = (usage: SQL, isRecounted: SQL): Statement<void>[] => [
  write(sql`DELETE FROM ${budgetAccountWindows} WHERE EXISTS (
    SELECT 1 FROM ${budgetWindows} ${w} WHERE ${w.budgetId} = ${budgetAccountWindows.budgetId}
      AND ${w.startsAt} = ${budgetAccountWindows.startsAt} AND ${isRecounted})`),
  writeAccountSums(
    accountSumsSql(
      sql`${usage} u`,
      usageCalls,
      sql`${usageCalls.at} >= (
        SELECT min(${w.startsAt}) FROM ${budgetWindows} ${w} WHERE ${w.budgetId} = ${b.id} AND ${isRecounted})`,
    ),
    'set',
  ),
]
