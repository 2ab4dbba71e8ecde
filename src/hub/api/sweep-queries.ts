import { type Column, type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import {
  activationLimits,
  approvals as approvalLimits,
  backupLimits,
  mailLimits,
  outageRetry,
  pushLimits,
  scheduling,
  webhookLimits,
} from '../../shared/config'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { bare } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { lostCallsSql } from '../agents/model-queries'
import { mailTimes } from '../mail/send-queries'
import {
  isAgentHeldSql,
  isAgentRunningSql,
  isHubPausedSql,
  isPendingCancellationSql,
  isWaitingSql,
  runningCountSql,
} from '../rules/waiting-sql'
import { activations } from '../schema/activations'
import { approvals, rateBuckets } from '../schema/approvals'
import { agents, providerOutages } from '../schema/definitions'
import { inboxItems, notificationSettings, pushQueue } from '../schema/inbox'
import { mailServer } from '../schema/mail'
import { replayLanes } from '../schema/replays'
import { transfers } from '../schema/system'
import { outbox, webhooks } from '../schema/webhooks'

const i = alias(inboxItems, 'i')
const q = alias(pushQueue, 'q')
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
        SELECT ${i.accountId} AS id, min(${i.createdAt}) AS since FROM ${inboxItems} ${i} INDEXED BY inbox_waiting
        JOIN ${agents} ${a} ON ${a.accountId} = ${i.accountId}
        WHERE ${isWaitingSql(i)} AND NOT ${isAgentRunningSql(i.accountId)}
          AND ((NOT ${isHubPausedSql} AND NOT ${isAgentHeldSql(a, now)}) OR ${isPendingCancellationSql(i)})
        GROUP BY ${i.accountId})`,
    ),
)

/** Selects when the next messages to browsers, mail and digests are due. */
export const selectNextSendings = prepare((_: Params<Record<never, never>>) =>
  oneSql(
    { pushAt: sql<number | null>`(SELECT min(${q.dueAt}) FROM ${pushQueue} ${q})`, ...mailTimes },
    sql`FROM (SELECT 1)`,
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

/** A column of times at which a wait ends, and the longest wait that its rule allows, in milliseconds. */
interface BoundedColumn {
  table: SQLiteTable
  column: Column
  longestMs: number
  /** The rows that wait. Where a table can be large, an index has just these, by this column. */
  waits?: SQL
}

/** All stored waits of the hub but those of schedules, whose rule is a cron expression. */
export const boundedColumns: Record<string, BoundedColumn> = {
  providers: {
    table: providerOutages,
    column: providerOutages.dueAt,
    longestMs: Math.max(outageRetry.capMs, outageRetry.attemptMs),
  },
  webhooks: {
    table: webhooks,
    column: webhooks.retryAt,
    longestMs: webhookLimits.waitMsMax,
  },
  deliveries: {
    table: outbox,
    column: outbox.nextAt,
    longestMs: webhookLimits.waitMsMax,
    waits: sql`${outbox.state} = 'pending'`,
  },
  mailServer: { table: mailServer, column: mailServer.retryAt, longestMs: mailLimits.waitMsMax },
  digests: {
    table: notificationSettings,
    column: notificationSettings.digestAt,
    longestMs: mailLimits.digestWaitMsMax,
    waits: sql`${notificationSettings.digestAt} IS NOT NULL`,
  },
  pushes: { table: pushQueue, column: pushQueue.dueAt, longestMs: pushLimits.waitMsMax },
  approvals: {
    table: approvals,
    column: approvals.expiresAt,
    longestMs: approvalLimits.expiresMs,
    waits: sql`${approvals.status} = 'pending'`,
  },
  deadlines: {
    table: activations,
    column: activations.deadlineAt,
    longestMs: activationLimits.durationSecondsCeiling * 1000 + scheduling.deadlineGraceMs,
    waits: sql`${activations.state} = 'running'`,
  },
  lanes: {
    table: replayLanes,
    column: replayLanes.deadlineAt,
    longestMs: activationLimits.durationSecondsCeiling * 1000 + scheduling.deadlineGraceMs,
    waits: sql`${replayLanes.state} = 'running'`,
  },
  // a bucket fills from its last update on, which is never ahead
  rates: { table: rateBuckets, column: rateBuckets.updatedAt, longestMs: 0 },
  backups: {
    table: transfers,
    column: transfers.holdsUntil,
    longestMs: backupLimits.holdSecondsMax * 1000,
    waits: sql`${transfers.kind} = 'backup'`,
  },
}

const prepared = Object.values(boundedColumns).map(({ table, column, longestMs, waits }) =>
  prepare(({ now }: Params<{ now: number }>) => {
    const latest = sql`${now} + ${sql.raw(String(longestMs))}`
    return write(
      sql`UPDATE ${table} SET ${bare(column)} = ${latest} WHERE ${column} > ${latest} ${waits && sql`AND ${waits}`}`,
    )
  }),
)

/** Returns the statements that bring back times which were stored before the clock was set back. */
export const boundTimeStatements = (now: number): Statement<void>[] =>
  prepared.map((toStatement) => toStatement({ now }))
