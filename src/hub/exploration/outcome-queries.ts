import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import { activations } from '../schema/activations'
import { contributions, explorers } from '../schema/exploration'

const x = alias(activations, 'x')
const e = alias(explorers, 'e')
const n = alias(contributions, 'n')

/** Fields of a committed activation, under the alias `x`, that are reported to the scheduler. */
export const explorationOutcomeFields = {
  isExplorer: flag(
    sql`EXISTS (SELECT 1 FROM ${explorers} ${e} WHERE ${e.accountId} = ${x.agentId} AND ${e.weight} > 0)`,
  ),
  isExploration: flag(sql`${x.class} = 'exploration'`),
  hasPassed: flag(
    sql`${x.task} = 'exploration' AND NOT EXISTS (SELECT 1 FROM ${contributions} ${n} WHERE ${n.activationId} = ${x.id})`,
  ),
}

export type ExplorationOutcomeRow = RowOf<typeof explorationOutcomeFields>
