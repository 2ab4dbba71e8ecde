import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { one, orm, type Params, prepare, write } from '../../shared/db/statement'
import { bare, updateSet } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { usageEvents } from '../schema/budgets'
import { totalsSql } from './usage-queries'

interface Values {
  activationId: ActivationId
  iterations: number
  model: string
  tools: string[]
  now: number
  /** JSON list of the calls to approve. */
  requests: string
}

const a = alias(approvals, 'a')
const e = alias(usageEvents, 'e')

/**
 * Releases slot, deadline and reservation; the usage so far is already recorded. A late repeat, after the
 * approvals were decided and the activation runs again, changes nothing: its approvals exist already.
 */
export const releaseSlot = prepare((v: Params<Values>) =>
  write(
    updateSet(
      activations,
      {
        state: 'parked',
        iterations: v.iterations,
        model: v.model,
        tools: v.tools,
        reservedMicrousd: 0,
        reservedTokens: 0,
        deadlineAt: v.now,
      },
      sql`, ${totalsSql(v.activationId)},
      (${bare(activations.settledMicrousd)}, ${bare(activations.settledTokens)}) = (
        SELECT coalesce(sum(${e.costMicrousd}), 0), coalesce(sum(${e.inputTokens} + ${e.outputTokens}), 0)
        FROM ${usageEvents} ${e} WHERE ${e.activationId} = ${v.activationId})
      WHERE ${activations.id} = ${v.activationId} AND ${activations.state} = 'running' AND NOT EXISTS (
        SELECT 1 FROM ${approvals} ${a}, json_each(${v.requests}) r
        WHERE ${a.id} = ${v.activationId} || ':' || (r.value ->> 'callId')
          AND ${a.activationId} = ${v.activationId}
          AND ${a.argumentsHash} = r.value ->> 'argumentsHash' AND ${a.tool} = r.value ->> 'tool')`,
    ),
  ),
)

export const selectStateOf = prepare(({ id }: Params<{ id: ActivationId }>) =>
  one(
    orm
      .select({ state: activations.state })
      .from(activations)
      .where(sql`${activations.id} = ${id}`),
  ),
)
