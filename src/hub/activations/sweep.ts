import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { batch } from '../../shared/db/batch'
import { manySql, oneSql, type Params, prepare } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { expireApprovals, expiryStatements } from '../approvals/write-queries'
import { extendBudgetWindows, findExpiringBudgets } from '../budgets/actions'
import type { SweepQuery, SweepReport } from '../contract/hub'
import { agents } from '../definitions/schema'
import { readExplorationReport } from '../exploration/sweep'
import { explorationStatements } from '../exploration/sweep-queries'
import { deleteIdleBuckets } from '../grants/rate-bucket-queries'
import { inboxItems } from '../inbox/schema'
import { publishReports, reportStatements } from '../reports/actions'
import { activations } from './schema'
import { isHubPausedSql, isPendingCancellationSql, isWaitingSql } from './waiting'

/** Milliseconds; the agent of a younger activation needs no wake-up. */
const settledAfterMs = 3_000

const i = alias(inboxItems, 'i')
const a = alias(agents, 'a')
const x = alias(activations, 'x')

/** Agents that a sweep wakes at most. */
const wakeMax = 500

/** Selects the agents to wake, the longest waiting first: `before` is the latest start of a run. */
const selectAgentsToWake = prepare(({ before }: Params<{ before: number }>) =>
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

const countRunning = prepare(() =>
  oneSql(
    { running: sql<number>`count(*)` },
    sql`FROM ${activations} WHERE ${activations.state} = 'running'`,
  ),
)

/**
 * Returns the agents to wake because a wake-up may have been lost: those with unclaimed tasks, and those
 * with an activation that has run for a while, which they resume or commit, paused or not. Overdue
 * approvals expire first, so their agents are included. One round trip; more when budget windows have to
 * be created or reports have to be posted.
 */
export async function sweep(
  context: ActionContext,
  now: number,
  question?: SweepQuery,
): Promise<SweepReport> {
  const { db, log } = context
  const answers = await batch(db, {
    expire: expireApprovals(now),
    expiry: expiryStatements(now),
    idleBuckets: deleteIdleBuckets(now),
    wake: selectAgentsToWake({ before: now - settledAfterMs }),
    count: countRunning({}),
    expiring: findExpiringBudgets(now),
    ...reportStatements(now),
    ...(question && explorationStatements(now, question)),
  })
  await extendBudgetWindows(db, answers.expiring, now).catch((error: unknown) =>
    log.error('failed to create budget windows', { error }),
  )
  await publishReports(context, answers, now).catch((error: unknown) =>
    log.error('failed to post reports', { error }),
  )
  const { wake, count, explorers, schedules, hubState } = answers
  return {
    wake: wake.map(({ id }) => id),
    running: count?.running ?? 0,
    ...(explorers &&
      schedules && { exploration: readExplorationReport({ explorers, schedules, hubState }) }),
  }
}
