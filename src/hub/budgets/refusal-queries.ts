import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import { activations } from '../schema/activations'
import { budgetAccountWindows, budgetRefusals, budgets, budgetWindows } from '../schema/budgets'
import { payersOfRun, updateAlerts } from './account-window-queries'
import { changedBudget, markCrossed } from './crossing-queries'
import { isTooLittleSql } from './levels'
import {
  holder,
  isLimitingSql,
  isRoleScopeSql,
  joinAccountWindowSql,
  joinHoldersSql,
  spentBy,
} from './payers-sql'
import { isCurrentWindowSql, paysForSql } from './scope-sql'

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const x = alias(activations, 'x')

interface Refusal {
  activationId: ActivationId
  now: number
  neededMicrousd: number
  neededTokens: number
}

/** Records the refusal at the windows of the payers whose role has a budget. */
const recordAtAccounts = prepare((v: Params<Refusal>) =>
  write(
    insertSelect(
      budgetAccountWindows,
      {
        budgetId: b.id,
        startsAt: w.startsAt,
        accountId: holder.id,
        neededMicrousd: v.neededMicrousd,
        neededTokens: v.neededTokens,
      },
      sql`FROM ${budgets} ${b} CROSS JOIN ${activations} ${x} ${joinHoldersSql(b, x.payers)}
        JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, v.now)}
        ${joinAccountWindowSql(w)}
        WHERE ${isRoleScopeSql(b)} AND ${isLimitingSql(b)} AND ${x.id} = ${v.activationId}
          AND ${x.state} = 'running' AND ${isTooLittleSql(b, spentBy(w), v)}
        ON CONFLICT (budget_id, starts_at, account_id) DO UPDATE SET
          needed_microusd = excluded.needed_microusd, needed_tokens = excluded.needed_tokens`,
    ),
  ),
)

/** Records the refusal at the other budgets that pay for the run. */
const recordAtBudgets = prepare((v: Params<Refusal>) =>
  write(
    insertSelect(
      budgetRefusals,
      {
        budgetId: b.id,
        startsAt: w.startsAt,
        neededMicrousd: v.neededMicrousd,
        neededTokens: v.neededTokens,
        refusedAt: v.now,
      },
      sql`FROM ${activations} ${x} CROSS JOIN ${budgets} ${b} ON ${paysForSql(b, x)}
        CROSS JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, v.now)}
        WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running'
          AND ${isTooLittleSql(b, w, v)}
        ON CONFLICT (budget_id) DO UPDATE SET starts_at = excluded.starts_at,
          needed_microusd = excluded.needed_microusd, needed_tokens = excluded.needed_tokens,
          refused_at = excluded.refused_at`,
    ),
  ),
)

/** Marks the budgets that are critical since they refused the call. */
const markRefusing = prepare((v: Params<Refusal>) =>
  markCrossed({
    from: sql`${activations} ${x}`,
    condition: sql`${x.id} = ${v.activationId} AND ${x.state} = 'running' AND ${paysForSql(changedBudget, x)}`,
    at: sql`${v.now}`,
  }),
)

/** Marks the payers for whom a budget of their role is critical since it refused the call. */
const markAccounts = prepare((v: Params<Refusal>) =>
  updateAlerts({ ...payersOfRun(v.activationId), at: sql`${v.now}` }),
)

/**
 * Returns the statements that record the refusal of a running activation's call at every budget that has
 * too little left for it, so that its level and forecast agree with the refusal, and mark these budgets for
 * the next report. They run after the activation is settled.
 */
export const insertRefusal = (refusal: Refusal): Statement<void>[] => [
  recordAtBudgets(refusal),
  recordAtAccounts(refusal),
  markRefusing(refusal),
  markAccounts(refusal),
]
