import { sql } from 'drizzle-orm'
import { manySql, type Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { activations } from '../schema/activations'

/** Selects the agents that run or wait for an approval: only they have watchers. */
export const selectWatchedAgents = (): Statement<{ agentId: AccountId }[]> =>
  manySql(
    { agentId: activations.agentId },
    sql`FROM ${activations} WHERE ${activations.state} IN ('running', 'parked')
      GROUP BY ${activations.agentId}`,
  )
