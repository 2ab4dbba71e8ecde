import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { manySql, oneSql, type Params, prepare } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { isAgentHeldSql } from '../inbox/held-sql'
import {
  isAgentRunningSql,
  isHubPausedSql,
  isPendingCancellationSql,
  isWaitingSql,
  runningCountSql,
} from '../inbox/waiting-sql'
import { lostCallsSql } from '../models/queries'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { providerOutages } from '../schema/outages'

const i = alias(inboxItems, 'i')
const a = alias(agents, 'a')
const x = alias(activations, 'x')
const o = alias(providerOutages, 'o')

/** Milliseconds; the agent of a younger activation needs no wake-up. */
const settledAfterMs = sql.raw('3000')

/**
 * Selects the agents to wake, the longest waiting first: those that run for a while, and as many of those with tasks as
 * there are free slots. As many again are drawn: the longest waiting may wait for money and leave their slots free.
 */
export const selectLongestWaiting = prepare(
  ({ now, capacity }: Params<{ now: number; capacity: number }>) =>
    manySql(
      { id: sql<AccountId>`id` },
      sql`FROM (
      SELECT ${x.agentId} AS id, ${x.startedAt} AS since FROM ${activations} ${x}
        WHERE ${x.state} = 'running' AND ${x.startedAt} NOT BETWEEN ${now} - ${settledAfterMs} AND ${now}
      UNION ALL SELECT * FROM (SELECT * FROM waiting ORDER BY since LIMIT (SELECT n FROM free))
      UNION ALL SELECT * FROM (SELECT * FROM waiting ORDER BY random() LIMIT (SELECT n FROM free))
    ) GROUP BY id ORDER BY min(since)`,
      sql`WITH free AS (SELECT max(0, ${capacity} - ${runningCountSql}) AS n),
      waiting AS MATERIALIZED (
        SELECT ${i.accountId} AS id, min(${i.createdAt}) AS since FROM ${inboxItems} ${i}
        JOIN ${agents} ${a} ON ${a.accountId} = ${i.accountId}
        WHERE ${isWaitingSql(i)} AND NOT ${isAgentRunningSql(i.accountId)}
          AND ((NOT ${isHubPausedSql} AND NOT ${isAgentHeldSql(a, now)}) OR ${isPendingCancellationSql(i)})
        GROUP BY ${i.accountId})`,
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
