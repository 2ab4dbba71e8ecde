import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { number, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import { isShownSql } from '../communities/readable-sql'
import type { AccountKind } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { usageDays, usageEvents } from '../schema/budgets'
import { communities } from '../schema/communities'
import type { Reader } from '../viewers/reader'

const DAY_MS = 86_400_000

export const usageGroups = ['agent', 'model', 'task', 'community', 'executor', 'day'] as const
export type UsageGroup = (typeof usageGroups)[number]

const d = alias(usageDays, 'd')
const e = alias(usageEvents, 'e')
const c = alias(communities, 'c')

/** The key of all communities together that the reader does not read. */
const hiddenKey = 'private'

interface GroupSql {
  /** Scope and key in `usage_days`. */
  scope: SQL
  dayKey: SQL
  /** Key in `usage_events`. */
  eventKey: SQL
  /** The table `n` with the name and kind of each key. */
  names?: (reader: SQLWrapper) => SQL
  /** The key that is shown, of the key `u.key`. */
  shown?: SQL
}

const scopeKey = sql`nullif(${d.scopeId}, '')`
const groups: Record<UsageGroup, GroupSql> = {
  agent: {
    scope: sql`'agent'`,
    dayKey: scopeKey,
    eventKey: sql`${e.accountId}`,
    names: () => sql`LEFT JOIN ${accounts} n ON n.id = u.key`,
  },
  community: {
    scope: sql`'community'`,
    dayKey: scopeKey,
    eventKey: sql`${e.communityId}`,
    names: (
      reader,
    ) => sql`LEFT JOIN (SELECT ${c.id}, ${c.name}, NULL AS kind FROM ${communities} ${c}
      WHERE ${isShownSql(c.id, reader)}) n ON n.id = u.key`,
    // Those that the reader does not read are one group, so that nothing of a single one is known.
    shown: sql`iif(u.key IS NULL OR n.id IS NOT NULL, u.key, ${sql.raw(`'${hiddenKey}'`)})`,
  },
  model: { scope: sql`'model'`, dayKey: scopeKey, eventKey: sql`${e.model}` },
  task: { scope: sql`'task'`, dayKey: scopeKey, eventKey: sql`${e.task}` },
  executor: { scope: sql`'executor'`, dayKey: scopeKey, eventKey: sql`${e.executor}` },
  day: {
    scope: sql`'hub'`,
    dayKey: sql`date(${d.day} * 86400, 'unixepoch')`,
    eventKey: sql`date(${e.createdAt} / 1000, 'unixepoch')`,
  },
}

const eventColumns = sql`1, ${e.isEstimated}, ${e.inputTokens}, ${e.cachedTokens}, ${e.outputTokens},
  ${e.reasoningTokens}, ${e.costMicrousd}, iif(${e.isPriced}, 0, ${e.inputTokens} + ${e.outputTokens})`

/** Times in milliseconds, and the whole days between them, as days since the Unix epoch. */
type Span = Params<{ from: number; to: number; firstDay: number; lastDay: number }>

/**
 * The usage `u` between two times: whole days from the daily sums, and the calls before and after these
 * days from the usage events.
 */
const usageSql = ({ scope, dayKey, eventKey }: GroupSql, v: Span): SQL => sql`
  WITH u (key, calls, estimated_calls, input_tokens, cached_tokens, output_tokens, reasoning_tokens,
    cost_microusd, unpriced_tokens) AS (
    SELECT ${dayKey}, ${d.calls}, ${d.estimatedCalls}, ${d.inputTokens}, ${d.cachedTokens}, ${d.outputTokens},
      ${d.reasoningTokens}, ${d.costMicrousd}, ${d.unpricedTokens}
    FROM ${usageDays} ${d} WHERE ${d.scope} = ${scope} AND ${d.day} >= ${v.firstDay} AND ${d.day} < ${v.lastDay}
    UNION ALL SELECT ${eventKey}, ${eventColumns} FROM ${usageEvents} ${e}
    WHERE ${e.createdAt} >= ${v.from} AND ${e.createdAt} < min(${v.to}, ${v.firstDay} * ${sql.raw(String(DAY_MS))})
    UNION ALL SELECT ${eventKey}, ${eventColumns} FROM ${usageEvents} ${e}
    WHERE ${e.createdAt} >= max(${v.from}, ${v.lastDay} * ${sql.raw(String(DAY_MS))}) AND ${e.createdAt} < ${v.to})`

const sums = {
  calls: number(sql`coalesce(sum(u.calls), 0)`),
  estimatedCalls: number(sql`coalesce(sum(u.estimated_calls), 0)`),
  inputTokens: number(sql`coalesce(sum(u.input_tokens), 0)`),
  cachedTokens: number(sql`coalesce(sum(u.cached_tokens), 0)`),
  outputTokens: number(sql`coalesce(sum(u.output_tokens), 0)`),
  reasoningTokens: number(sql`coalesce(sum(u.reasoning_tokens), 0)`),
  costMicrousd: number(sql`coalesce(sum(u.cost_microusd), 0)`),
  /** Tokens of models without a price. */
  unpricedTokens: number(sql`coalesce(sum(u.unpriced_tokens), 0)`),
}

/** Usage sums of a group, or of all groups. */
export type UsageSums = RowOf<typeof sums>

const groupFields = ({ names, shown }: GroupSql) => ({
  /**
   * Account or community id, model, task, executor, or day (UTC); null for no community, `private` for those
   * that the reader does not read.
   */
  key: sql<string | null>`${shown ?? sql`u.key`}`,
  /** Name of an agent or a community; null for other groups. */
  name: names ? sql<string | null>`n.name` : sql<string | null>`NULL`,
  kind: names ? sql<AccountKind | null>`n.kind` : sql<AccountKind | null>`NULL`,
  ...sums,
})

/** Usage sums of one group. */
export type UsageGroupSums = RowOf<ReturnType<typeof groupFields>>

const prepareGroups = (group: UsageGroup) =>
  prepare((v: Span & Params<{ reader: Reader }>) => {
    const { names, shown = sql`u.key` } = groups[group]
    const order =
      group === 'day'
        ? sql`u.key`
        : sql`sum(u.cost_microusd) DESC, sum(u.input_tokens) + sum(u.output_tokens) DESC, u.key`
    return manySql(
      groupFields(groups[group]),
      sql`FROM u ${names?.(v.reader)} GROUP BY ${shown} ORDER BY ${order} LIMIT 1000`,
      usageSql(groups[group], v),
    )
  })

const selectGroups = Object.fromEntries(
  usageGroups.map((group) => [group, prepareGroups(group)]),
) as Record<UsageGroup, ReturnType<typeof prepareGroups>>

const selectTotal = prepare((v: Span) => oneSql(sums, sql`FROM u`, usageSql(groups.day, v)))

/** Selects usage from `from` until before `to`: by group, and the total. */
export function usageStatements(
  group: UsageGroup,
  from: number,
  to: number,
  reader: Reader,
): { groups: Statement<UsageGroupSums[]>; total: Statement<UsageSums | undefined> } {
  const firstDay = Math.ceil(from / DAY_MS)
  const lastDay = Math.max(firstDay, Math.floor(to / DAY_MS))
  const span = { from, to, firstDay, lastDay }
  return { groups: selectGroups[group]({ ...span, reader }), total: selectTotal(span) }
}
