import { settleUsage, unsettledSql } from '../budgets/queries'
import type { CommitRequest } from '../contract/hub'
import type { Db } from '../db'

/** Usage and trace that both COMMIT and PARK report. */
type UsageReport = Pick<CommitRequest, 'activationId' | 'usage' | 'now' | 'trace'>

const countCostSql = `
  UPDATE posts SET agents_cost_microusd = agents_cost_microusd + new.microusd
  FROM (${unsettledSql('?2')}) AS new
  WHERE id = (SELECT post_id FROM activations WHERE id = ?1 AND state = 'running')`

const usageSql = `
  INSERT OR IGNORE INTO usage_events (activation_id, call, account_id, executor, model, task, post_id,
    community_id, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_microusd, is_priced, is_estimated,
    duration_ms, created_at)
  SELECT x.id, u.value ->> 'call', x.agent_id, u.value ->> 'executor', u.value ->> 'model', x.task, x.post_id,
    x.community_id, u.value ->> 'inputTokens', u.value ->> 'cachedTokens', u.value ->> 'outputTokens',
    u.value ->> 'reasoningTokens', u.value ->> 'costMicrousd', u.value ->> 'isPriced',
    u.value ->> 'isEstimated', u.value ->> 'durationMs', max(?3, x.reserved_at)
  FROM activations x, json_each(?2) u WHERE x.id = ?1 AND x.state = 'running'`

const traceSql = `
  INSERT OR REPLACE INTO activation_traces (activation_id, trace)
  SELECT id, ?2 FROM activations WHERE id = ?1 AND state = 'running'`

/**
 * Returns the statements that charge and record the calls not recorded yet, and store the trace; they
 * apply only while the activation runs. Each call is charged once, however often it is reported.
 */
export function recordUsageStatements(db: Db, report: UsageReport): D1PreparedStatement[] {
  const { activationId, usage, now, trace } = report
  const bind = (sql: string, ...values: unknown[]) =>
    db.d1.prepare(sql).bind(activationId, ...values)
  const charges =
    usage.length === 0
      ? []
      : [
          bind(countCostSql, JSON.stringify(usage)),
          settleUsage(db, { activationId, usage, now }),
          bind(usageSql, JSON.stringify(usage), now),
        ]
  return [...charges, bind(traceSql, trace)]
}

/** Sets the totals of the activation `?1` to the sum of its recorded usage. */
export const totalsSql = `
  (input_tokens, cached_tokens, output_tokens, cost_microusd, is_priced) = (
    SELECT coalesce(sum(input_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(output_tokens), 0),
      coalesce(sum(cost_microusd), 0), coalesce(min(is_priced), 1)
    FROM usage_events WHERE activation_id = ?1)`
