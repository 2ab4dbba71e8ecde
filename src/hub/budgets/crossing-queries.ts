import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import { budgetLevels, budgets, budgetWindows } from '../schema/budgets'
import { levelSql, neededSql } from './levels'
import { isSharedScopeSql } from './payers-sql'

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const l = alias(budgetLevels, 'l')

/** Marks the budgets `b` of `rest` for the next report. */
const markSql = (rest: SQL): Statement<void> =>
  write(
    insertSelect(
      budgetLevels,
      { budgetId: b.id, isCrossed: sql`1` },
      sql`${rest} ON CONFLICT (budget_id) DO UPDATE SET is_crossed = 1`,
    ),
  )

/** The budget in the conditions of `markChanged` and `markCrossed`. */
export const changedBudget = b

/** Marks budgets whose limit or thresholds were changed for the next report; runs after the change. */
export const markChanged = (condition: SQL): Statement<void> =>
  markSql(sql`FROM ${budgets} ${b} WHERE ${condition} AND ${isSharedScopeSql(b)}`)

/**
 * Marks budgets that have reached a level above the one last reported; runs after the counters of their
 * windows were raised, or a call was refused.
 *
 * @param from a table that is joined before the budgets
 * @param at a time in the window that was raised
 */
export const markCrossed = (of: { from?: SQL; condition: SQL; at: SQL }): Statement<void> =>
  markSql(sql`FROM ${of.from ? sql`${of.from} CROSS JOIN ` : undefined}${budgets} ${b}
    CROSS JOIN ${budgetWindows} ${w} ON ${w.budgetId} = ${b.id} AND ${w.startsAt} = ${lastStartSql(b.id, of.at)}
    LEFT JOIN ${budgetLevels} ${l} ON ${l.budgetId} = ${b.id} AND ${l.startsAt} = ${w.startsAt}
    WHERE ${of.condition} AND ${isSharedScopeSql(b)} AND coalesce(${l.level}, 0) < ${levelSql(b, w, neededSql(b, w))}`)

/**
 * The start of the window that counts what is spent at a time. Without a current window the last
 * earlier one counts it, so that no spending is lost.
 */
export const lastStartSql = (budgetId: SQLWrapper, at: SQLWrapper): SQL<number> =>
  sql`(SELECT max(s.starts_at) FROM ${budgetWindows} s WHERE s.budget_id = ${budgetId} AND s.starts_at <= ${at})`
