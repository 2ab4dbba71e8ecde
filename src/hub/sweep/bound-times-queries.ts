import { type Column, type SQL, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import {
  activationLimits,
  approvals as approvalLimits,
  backupLimits,
  outageRetry,
  pushLimits,
  scheduling,
} from '../../shared/config'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { bare } from '../../shared/db/write-sql'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { rateBuckets } from '../schema/grants'
import { providerOutages } from '../schema/outages'
import { pushQueue } from '../schema/push'
import { transfers } from '../schema/transfers'

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
    ...{ table: providerOutages, column: providerOutages.dueAt },
    longestMs: Math.max(outageRetry.capMs, outageRetry.attemptMs),
  },
  pushes: { table: pushQueue, column: pushQueue.dueAt, longestMs: pushLimits.waitMsMax },
  approvals: {
    ...{ table: approvals, column: approvals.expiresAt, longestMs: approvalLimits.expiresMs },
    waits: sql`${approvals.status} = 'pending'`,
  },
  deadlines: {
    ...{ table: activations, column: activations.deadlineAt },
    longestMs: activationLimits.durationSecondsCeiling * 1000 + scheduling.deadlineGraceMs,
    waits: sql`${activations.state} = 'running'`,
  },
  // a bucket fills from its last update on, which is never ahead
  rates: { table: rateBuckets, column: rateBuckets.updatedAt, longestMs: 0 },
  backups: {
    ...{ table: transfers, column: transfers.holdsUntil },
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
