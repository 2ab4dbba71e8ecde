import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { budgetLimits } from '../../shared/config'
import { number, type RowOf } from '../../shared/db/fields'
import { manySql, prepare, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import { budgets, budgetWindows } from '../schema/budgets'
import { lastStartSql } from './crossing-queries'
import { paysForSql, shareSql, spenderOf, usageSpendersSql } from './scope-sql'

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')

const differenceFields = {
  budgetId: b.id,
  scope: b.scope,
  scopeId: b.scopeId,
  startsAt: w.startsAt,
  endsAt: w.endsAt,
  countedMicrousd: w.spentMicrousd,
  countedTokens: w.spentTokens,
  eventsMicrousd: number(sql`coalesce(e.microusd, 0)`),
  eventsTokens: number(sql`coalesce(e.tokens, 0)`),
}

/** A window whose counters differ from the usage events. */
export type WindowDifference = RowOf<typeof differenceFields>

/**
 * `FROM` the windows whose counters differ from the usage events. An event counts for each budget that
 * pays for it, in the last window that started before the event, as when the event was settled.
 */
const fromDifferencesSql = sql`FROM ${budgetWindows} ${w} JOIN ${budgets} ${b} ON ${b.id} = ${w.budgetId}
  LEFT JOIN (
    SELECT ${b.id} AS budget_id, ${lastStartSql(b.id, sql`u.created_at`)} AS starts_at,
      sum(${shareSql(b, spenderOf('u'), sql`u.cost_microusd`)}) AS microusd,
      sum(${shareSql(b, spenderOf('u'), sql`(u.input_tokens + u.output_tokens)`)}) AS tokens
    FROM ${usageSpendersSql} u CROSS JOIN ${budgets} ${b} ON ${paysForSql(b, spenderOf('u'))}
    GROUP BY 1, 2) e ON e.budget_id = ${w.budgetId} AND e.starts_at = ${w.startsAt}
  WHERE ${w.spentMicrousd} <> coalesce(e.microusd, 0) OR ${w.spentTokens} <> coalesce(e.tokens, 0)`

export const selectDifferences = prepare(() =>
  manySql(
    differenceFields,
    sql`${fromDifferencesSql} ORDER BY ${b.id}, ${w.startsAt} LIMIT ${sql.raw(String(budgetLimits.differencesMax))}`,
  ),
)

/** Overwrites differing counters with the sums of the usage events at execution time. */
export const repairWindows = prepare(() =>
  write(
    updateSet(
      budgetWindows,
      { spentMicrousd: sql`r.microusd`, spentTokens: sql`r.tokens` },
      sql`FROM (
          SELECT ${w.budgetId} AS budget_id, ${w.startsAt} AS starts_at,
            coalesce(e.microusd, 0) AS microusd, coalesce(e.tokens, 0) AS tokens
          ${fromDifferencesSql}) AS r
        WHERE ${budgetWindows.budgetId} = r.budget_id AND ${budgetWindows.startsAt} = r.starts_at`,
    ),
  ),
)
