import type { AccountKind } from '../contract/hub'
import type { Db } from '../db'

const DAY_MS = 86_400_000

export const usageGroups = ['agent', 'model', 'task', 'community', 'executor', 'day'] as const
export type UsageGroup = (typeof usageGroups)[number]

/** Usage sums of one group, or of all groups with a null `key`. */
export interface UsageSums {
  /** Account or community id, model, task, executor, or day (UTC); null for no community. */
  key: string | null
  /** Name of an agent or a community; null for other groups. */
  name: string | null
  kind: AccountKind | null
  calls: number
  estimatedCalls: number
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  reasoningTokens: number
  costMicrousd: number
  /** Tokens of models without a price. */
  unpricedTokens: number
}

interface GroupSql {
  /** Scope and key in `usage_days`. */
  scope: string
  dayKey: string
  /** Key in `usage_events`. */
  eventKey: string
  names?: string
}

const scopeId = `nullif(d.scope_id, '')`
const groups: Record<UsageGroup, GroupSql> = {
  agent: {
    scope: 'agent',
    dayKey: scopeId,
    eventKey: 'e.account_id',
    names: 'LEFT JOIN accounts n ON n.id = u.key',
  },
  community: {
    scope: 'community',
    dayKey: scopeId,
    eventKey: 'e.community_id',
    names: 'LEFT JOIN (SELECT id, name, NULL AS kind FROM communities) n ON n.id = u.key',
  },
  model: { scope: 'model', dayKey: scopeId, eventKey: 'e.model' },
  task: { scope: 'task', dayKey: scopeId, eventKey: 'e.task' },
  executor: { scope: 'executor', dayKey: scopeId, eventKey: 'e.executor' },
  day: {
    scope: 'hub',
    dayKey: `date(d.day * 86400, 'unixepoch')`,
    eventKey: `date(e.created_at / 1000, 'unixepoch')`,
  },
}

const eventColumns = `1, e.is_estimated, e.input_tokens, e.cached_tokens, e.output_tokens, e.reasoning_tokens,
  e.cost_microusd, iif(e.is_priced, 0, e.input_tokens + e.output_tokens)`

/**
 * Selects usage from `?1` until before `?2`: whole days (`?3` until before `?4`) from the daily sums,
 * and the calls before and after these days from the usage events.
 */
const usageSql = ({ scope, dayKey, eventKey }: GroupSql): string => `
  WITH u (key, calls, estimated, input, cached, output, reasoning, cost, unpriced) AS (
    SELECT ${dayKey}, d.calls, d.estimated_calls, d.input_tokens, d.cached_tokens, d.output_tokens,
      d.reasoning_tokens, d.cost_microusd, d.unpriced_tokens
    FROM usage_days d WHERE d.scope = '${scope}' AND d.day >= ?3 AND d.day < ?4
    UNION ALL SELECT ${eventKey}, ${eventColumns} FROM usage_events e
    WHERE e.created_at >= ?1 AND e.created_at < min(?2, ?3 * ${DAY_MS})
    UNION ALL SELECT ${eventKey}, ${eventColumns} FROM usage_events e
    WHERE e.created_at >= max(?1, ?4 * ${DAY_MS}) AND e.created_at < ?2)`

const sums = `
  coalesce(sum(u.calls), 0) AS calls, coalesce(sum(u.estimated), 0) AS estimatedCalls,
  coalesce(sum(u.input), 0) AS inputTokens, coalesce(sum(u.cached), 0) AS cachedTokens,
  coalesce(sum(u.output), 0) AS outputTokens, coalesce(sum(u.reasoning), 0) AS reasoningTokens,
  coalesce(sum(u.cost), 0) AS costMicrousd, coalesce(sum(u.unpriced), 0) AS unpricedTokens`

/** Selects usage from `from` until before `to`, in two statements: by group, and the total. */
export function usageStatements(
  db: Db,
  group: UsageGroup,
  from: number,
  to: number,
): D1PreparedStatement[] {
  const { names } = groups[group]
  const order = group === 'day' ? 'key' : 'costMicrousd DESC, inputTokens + outputTokens DESC, key'
  const firstDay = Math.ceil(from / DAY_MS)
  const lastDay = Math.max(firstDay, Math.floor(to / DAY_MS))
  return [
    `${usageSql(groups[group])}
     SELECT u.key, ${names ? 'n.name, n.kind' : 'NULL AS name, NULL AS kind'}, ${sums} FROM u ${names ?? ''}
     GROUP BY u.key ORDER BY ${order} LIMIT 1000`,
    `${usageSql(groups.day)} SELECT NULL AS key, NULL AS name, NULL AS kind, ${sums} FROM u`,
  ].map((sql) => db.d1.prepare(sql).bind(from, to, firstDay, lastDay))
}
