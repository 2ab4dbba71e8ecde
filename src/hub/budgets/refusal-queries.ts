import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import { activations } from '../schema/activations'
import { budgetRefusals, budgets, budgetWindows } from '../schema/budgets'
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

/**
 * Records the refusal of a running activation's call at every budget that has too little left for it, so
 * that its status and forecast agree with the refusal. Runs after the activation is settled.
 */
export const insertRefusal = prepare((v: Params<Refusal>) =>
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
          AND (coalesce(cast(${b.limitMicrousd} * ${b.criticalShare} AS INTEGER) - ${w.spentMicrousd} < ${v.neededMicrousd}, 0)
            OR coalesce(cast(${b.limitTokens} * ${b.criticalShare} AS INTEGER) - ${w.spentTokens} < ${v.neededTokens}, 0))
        ON CONFLICT (budget_id) DO UPDATE SET starts_at = excluded.starts_at,
          needed_microusd = excluded.needed_microusd, needed_tokens = excluded.needed_tokens,
          refused_at = excluded.refused_at`,
    ),
  ),
)
