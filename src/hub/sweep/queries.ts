import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { manySql, oneSql, type Params, prepare } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { isDisabledSql } from '../bans/ban-sql'
import { isHubPausedSql, isPendingCancellationSql, isWaitingSql } from '../inbox/waiting-sql'
import { lostCallsSql } from '../models/queries'
import { awaitsProviderSql } from '../outages/wait-sql'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { providerOutages } from '../schema/outages'

const i = alias(inboxItems, 'i')
const a = alias(agents, 'a')
const x = alias(activations, 'x')
const o = alias(providerOutages, 'o')

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
          AND ((${a.isPaused} = 0 AND NOT ${isHubPausedSql} AND NOT ${awaitsProviderSql(a.accountId)}
            AND NOT ${isDisabledSql(a.accountId)}) OR ${isPendingCancellationSql(i)})
        GROUP BY ${i.accountId}
      UNION
      SELECT ${x.agentId}, ${x.startedAt} FROM ${activations} ${x}
        WHERE ${x.state} = 'running' AND ${x.startedAt} < ${before}
    ) GROUP BY id ORDER BY min(since) LIMIT ${wakeMax}`,
  ),
)

/**
 * Counts running activations, selects the single calls among them that were lost, and when the next provider that
 * is down is tried again.
 */
export const countRunning = prepare(({ now }: Params<{ now: number }>) =>
  oneSql(
    {
      running: sql<number>`count(*)`,
      lostCalls: lostCallsSql(now),
      nextAttemptAt: sql<number | null>`(SELECT min(${o.dueAt}) FROM ${providerOutages} ${o})`,
    },
    sql`FROM ${activations} ${x} WHERE ${x.state} = 'running'`,
  ),
)
