import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import { settleUsage, unsettledSql } from '../budgets/settle-queries'
import type { CommitRequest } from '../contract/hub'
import { activations, activationTraces } from '../schema/activations'
import { usageEvents } from '../schema/budgets'
import { posts } from '../schema/posts'

/** Usage and trace that both COMMIT and PARK report. */
type UsageReport = Pick<CommitRequest, 'activationId' | 'usage' | 'now' | 'trace'>

/** `usage` is a JSON list of calls. */
type ReportedUsage = Params<{ activationId: ActivationId; usage: string; now: number }>

const x = alias(activations, 'x')
const e = alias(usageEvents, 'e')

const countCost = prepare((v: ReportedUsage) =>
  write(
    updateSet(
      posts,
      { agentsCostMicrousd: sql`${posts.agentsCostMicrousd} + new.microusd` },
      sql`FROM (${unsettledSql(v)}) AS new
      WHERE ${posts.id} = (SELECT ${x.postId} FROM ${activations} ${x}
        WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running')`,
    ),
  ),
)

const insertUsage = prepare((v: ReportedUsage) =>
  write(
    insertSelect(
      usageEvents,
      {
        activationId: x.id,
        call: sql`u.value ->> 'call'`,
        accountId: x.agentId,
        executor: sql`u.value ->> 'executor'`,
        model: sql`u.value ->> 'model'`,
        task: x.task,
        postId: x.postId,
        communityId: x.communityId,
        inputTokens: sql`u.value ->> 'inputTokens'`,
        cachedTokens: sql`u.value ->> 'cachedTokens'`,
        outputTokens: sql`u.value ->> 'outputTokens'`,
        reasoningTokens: sql`u.value ->> 'reasoningTokens'`,
        costMicrousd: sql`u.value ->> 'costMicrousd'`,
        isPriced: sql`u.value ->> 'isPriced'`,
        isEstimated: sql`u.value ->> 'isEstimated'`,
        durationMs: sql`u.value ->> 'durationMs'`,
        createdAt: sql`max(${v.now}, ${x.reservedAt})`,
      },
      sql`FROM ${activations} ${x}, json_each(${v.usage}) u
      WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running'`,
      { verb: 'INSERT OR IGNORE' },
    ),
  ),
)

const storeTrace = prepare((v: Params<{ activationId: ActivationId; trace: string }>) =>
  write(
    insertSelect(
      activationTraces,
      { activationId: x.id, trace: v.trace },
      sql`FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running'
      ON CONFLICT (activation_id) DO UPDATE SET trace = excluded.trace`,
    ),
  ),
)

/**
 * Returns the statements that charge and record the calls not recorded yet, and store the trace; they
 * apply only while the activation runs. Each call is charged once, however often it is reported.
 */
export function recordUsageStatements(report: UsageReport): Statement<void>[] {
  const { activationId, trace } = report
  return [...chargeStatements(report), storeTrace({ activationId, trace })]
}

/** Returns the statements that charge and record calls, without a trace. */
export function chargeStatements({
  activationId,
  usage,
  now,
}: Omit<UsageReport, 'trace'>): Statement<void>[] {
  if (usage.length === 0) return []
  const values = { activationId, usage: JSON.stringify(usage), now }
  return [countCost(values), ...settleUsage({ activationId, usage, now }), insertUsage(values)]
}

/** Sets the totals of an activation to the sum of its recorded usage; part of a list of `SET`. */
export const totalsSql = (activationId: SQLWrapper): SQL => {
  const columns = [
    activations.inputTokens,
    activations.cachedTokens,
    activations.outputTokens,
    activations.costMicrousd,
    activations.isPriced,
  ]
  return sql`(${sql.join(columns.map(bare), sql`, `)}) = (
    SELECT coalesce(sum(${e.inputTokens}), 0), coalesce(sum(${e.cachedTokens}), 0),
      coalesce(sum(${e.outputTokens}), 0), coalesce(sum(${e.costMicrousd}), 0), coalesce(min(${e.isPriced}), 1)
    FROM ${usageEvents} ${e} WHERE ${e.activationId} = ${activationId})`
}
