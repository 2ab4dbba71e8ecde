import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { manySql, oneSql, type Params, prepare } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { agents } from '../definitions/schema'
import { inboxItems } from '../inbox/schema'
import { activations } from './schema'
import { isHubPausedSql, isPendingCancellationSql, isWaitingSql } from './waiting-sql'

const i = alias(inboxItems, 'i')
const a = alias(agents, 'a')
const x = alias(activations, 'x')

/** Agents that a sweep wakes at most. */
const wakeMax = 500

/** Selects the agents to wake, the longest waiting first: `before` is the latest start of a run. */
export const selectLongestWaiting = prepare(({ before }: Params<{ before: number }>) =>
  manySql(
    { id: sql<AccountId>`id` },
    sql`FROM (
      SELECT ${i.accountId} AS id, min(${i.createdAt}) AS since FROM ${inboxItems} ${i}
        JOIN ${agents} ${a} ON ${a.accountId} = ${i.accountId}
        WHERE ${isWaitingSql(i)}
          AND ((${a.isPaused} = 0 AND NOT ${isHubPausedSql}) OR ${isPendingCancellationSql(i)})
        GROUP BY ${i.accountId}
      UNION
      SELECT ${x.agentId}, ${x.startedAt} FROM ${activations} ${x}
        WHERE ${x.state} = 'running' AND ${x.startedAt} < ${before}
    ) GROUP BY id ORDER BY min(since) LIMIT ${wakeMax}`,
  ),
)

export const countRunning = prepare(() =>
  oneSql(
    { running: sql<number>`count(*)` },
    sql`FROM ${activations} WHERE ${activations.state} = 'running'`,
  ),
)
