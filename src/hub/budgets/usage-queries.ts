import { getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { budgetLimits, usageCharts } from '../../shared/config'
import { number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { bare, updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'
import { usageArchivedBeforeSql } from '../operations/archive-queries'
import type { ArchivedRecords } from '../operations/archive-view'
import {
  paysForSql,
  providerSql,
  shareSql,
  usageSpender,
  usageSpendersSql,
} from '../rules/payers-sql'
import { isShownSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { archiveFiles } from '../schema/audit'
import {
  budgetAccountWindows,
  budgets,
  budgetWindows,
  usageDays,
  usageEvents,
} from '../schema/budgets'
import { communities } from '../schema/communities'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import { accountSumsSql, lastStartSql, usageCalls, writeAccountSums } from './queries'
import { resetCounted } from './requester-queries'
import type { UsageDimension, UsageView } from './usage-view'

const u = alias(usageDays, 'u')

/** The columns of days that are summed. */
const summed = {
  calls: u.calls,
  inputTokens: u.inputTokens,
  cachedTokens: u.cachedTokens,
  outputTokens: u.outputTokens,
  costMicrousd: u.costMicrousd,
  unpricedCalls: u.unpricedCalls,
  unpricedTokens: u.unpricedTokens,
}

type SumName = keyof typeof summed

/** Usage sums of a day, a series, or both. */
export type UsageTotals = Record<SumName, number>

/** A field for each sum. */
const sumFields = (
  toSql: (column: (typeof summed)[SumName]) => SQL,
): Record<SumName, SQL<number>> =>
  Object.fromEntries(
    Object.entries(summed).map(([name, column]) => [name, number(toSql(column))]),
  ) as Record<SumName, SQL<number>>

const totalOf = sumFields((column) => sql`total(${column})`)

/** The cost of today, and of the last seven days. */
const recentFields = (today: Params<{ today: number }>['today']) => ({
  todayMicrousd: number(sql`total(iif(${u.day} = ${today}, ${u.costMicrousd}, 0))`),
  weekMicrousd: number(sql`total(iif(${u.day} > ${today} - 7, ${u.costMicrousd}, 0))`),
})

const greatestFirst = sql`sum(${u.costMicrousd}) DESC, sum(${u.inputTokens} + ${u.outputTokens}) DESC, ${u.scopeId}`

type ViewParams = Params<Pick<UsageView, 'by' | 'fromDay' | 'toDay' | 'today'> & { reader: Reader }>

/** The series of a row of days. All communities together that the reader does not read are one. */
const seriesId = ({ by, reader }: Pick<ViewParams, 'by' | 'reader'>): SQL<string> =>
  sql`iif(${by} <> 'community' OR ${u.scopeId} = '' OR ${isShownSql(u.scopeId, reader)}, ${u.scopeId}, 'private')`

const greatest = (v: Omit<ViewParams, 'today'>, count: number, columns: SQL): SQL => sql`
  SELECT ${seriesId(v)} AS id${columns} FROM ${usageDays} ${u}
  WHERE ${u.scope} = ${v.by} AND ${u.day} >= ${v.fromDay} AND ${u.day} < ${v.toDay}
  GROUP BY 1 ORDER BY ${greatestFirst} LIMIT ${sql.raw(String(count))}`

interface Naming {
  name: SQL<string | null>
  kind: SQL<AccountKind | null>
  join?: SQL
}

const ownName: Naming = { name: sql`s.id`, kind: sql`NULL` }
const namings: Record<UsageDimension, Naming> = {
  agent: {
    name: sql`n.name`,
    kind: sql`n.kind`,
    join: sql`LEFT JOIN ${accounts} n ON n.id = s.id`,
  },
  community: {
    name: sql`'m/' || n.name`,
    kind: sql`NULL`,
    join: sql`LEFT JOIN ${communities} n ON n.id = s.id`,
  },
  model: ownName,
  task: ownName,
  provider: ownName,
}

const seriesFields = ({ name, kind }: Naming) => ({
  /** Account or community id, model, task or provider; '' for none, `private` for communities that are not read. */
  id: sql<string>`s.id`,
  /** Null when deleted, and for `private`. */
  name,
  /** Kind of an account; null for other dimensions. */
  kind,
  ...sumFields((column) => sql`s.${bare(column)}`),
  todayMicrousd: sql<number>`s.today_microusd`,
  weekMicrousd: sql<number>`s.week_microusd`,
})

/** Usage of one agent, model, task, community or provider in a span of days. */
export type UsageSeries = RowOf<ReturnType<typeof seriesFields>>

/** Selects series with their sums, greatest first. Reads daily sums instead of model calls. */
const prepareSeries = (naming: Naming) =>
  prepare((v: ViewParams) => {
    const recent = recentFields(v.today)
    const sums = Object.values(summed).map((column) => sql`, total(${column}) AS ${bare(column)}`)
    const columns = sql`${sql.join(sums)}, ${recent.todayMicrousd} AS today_microusd,
      ${recent.weekMicrousd} AS week_microusd`
    return manySql(
      seriesFields(naming),
      sql`FROM (${greatest(v, usageCharts.tableRowsMax, columns)}) s ${naming.join}
        ORDER BY s.cost_microusd DESC, s.input_tokens + s.output_tokens DESC, s.id`,
    )
  })

const selectSeries = Object.fromEntries(
  Object.entries(namings).map(([by, naming]) => [by, prepareSeries(naming)]),
) as Record<UsageDimension, ReturnType<typeof prepareSeries>>

/** Usage of a series on a day; `id` is null for the sum of all series beyond the greatest. */
const dayFields = (v: Pick<ViewParams, 'by' | 'reader'>) => ({
  day: u.day,
  id: sql<string | null>`iif(${seriesId(v)} IN top, ${seriesId(v)}, NULL)`,
  ...totalOf,
})
export type SeriesDay = RowOf<ReturnType<typeof dayFields>>

/** Selects the days of the greatest series of a view, from `sinceDay` on. */
const selectSeriesDays = prepare((v: Omit<ViewParams, 'today'> & Params<{ sinceDay: number }>) =>
  manySql(
    dayFields(v),
    sql`FROM ${usageDays} ${u}
        WHERE ${u.scope} = ${v.by} AND ${u.day} >= ${v.sinceDay} AND ${u.day} < ${v.toDay}
        GROUP BY 1, 2 ORDER BY 1`,
    sql`WITH top AS MATERIALIZED (${greatest(v, usageCharts.seriesMax, sql``)})`,
  ),
)

/** The total of a view. */
export type UsageTotal = Omit<UsageSeries, 'id' | 'name' | 'kind'>

const selectTotal = prepare((v: Omit<ViewParams, 'by' | 'reader'>) =>
  oneSql(
    { ...totalOf, ...recentFields(v.today) },
    sql`FROM ${usageDays} ${u} WHERE ${u.scope} = 'hub' AND ${u.day} >= ${v.fromDay} AND ${u.day} < ${v.toDay}`,
  ),
)

/** Days of the longest budget window, which the cumulative chart shows from its start. */
const windowDaysMax = 31

/** Selects the usage that the page and its CSV show. */
export function usageViewStatements({ by, fromDay, toDay, today }: UsageView, reader: Reader) {
  const sinceDay = toDay > today ? Math.min(fromDay, today - windowDaysMax) : fromDay
  return {
    series: selectSeries[by]({ by, fromDay, toDay, today, reader }),
    total: selectTotal({ fromDay, toDay, today }),
    days: selectSeriesDays({ by, fromDay, toDay, sinceDay, reader }),
  }
}

const DAY_MS = 86_400_000

export const usageGroups = ['agent', 'model', 'task', 'community', 'provider', 'day'] as const
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
    ) => sql`LEFT JOIN (SELECT ${c.id}, ${c.name}, NULL AS kind, ${c.displayName} FROM ${communities} ${c}
      WHERE ${isShownSql(c.id, reader)}) n ON n.id = u.key`,
    // Those that the reader does not read are one group, so that nothing of a single one is known.
    shown: sql`iif(u.key IS NULL OR n.id IS NOT NULL, u.key, ${sql.raw(`'${hiddenKey}'`)})`,
  },
  model: { scope: sql`'model'`, dayKey: scopeKey, eventKey: sql`${e.model}` },
  task: { scope: sql`'task'`, dayKey: scopeKey, eventKey: sql`${e.task}` },
  provider: {
    scope: sql`'provider'`,
    dayKey: scopeKey,
    eventKey: providerSql(e.model),
  },
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
   * Account or community id, model, task, provider, or day (UTC); null for no community, `private` for those
   * that the reader does not read.
   */
  key: sql<string | null>`${shown ?? sql`u.key`}`,
  /** Name of an agent or a community; null for other groups. */
  name: names ? sql<string | null>`n.name` : sql<string | null>`NULL`,
  kind: names ? sql<AccountKind | null>`n.kind` : sql<AccountKind | null>`NULL`,
  displayName: names ? sql<string | null>`n.display_name` : sql<string | null>`NULL`,
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

const selectSpanTotal = prepare((v: Span) => oneSql(sums, sql`FROM u`, usageSql(groups.day, v)))

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
  return { groups: selectGroups[group]({ ...span, reader }), total: selectSpanTotal(span) }
}

const call = alias(usageEvents, 'u')
const a = alias(accounts, 'a')

const callFields = {
  at: call.createdAt,
  agentName: a.name,
  activationId: call.activationId,
  call: call.call,
  model: call.model,
  task: call.task,
  inputTokens: call.inputTokens,
  cachedTokens: call.cachedTokens,
  outputTokens: call.outputTokens,
  reasoningTokens: call.reasoningTokens,
  costMicrousd: call.costMicrousd,
  isPriced: call.isPriced,
  isEstimated: call.isEstimated,
  durationMs: call.durationMs,
}

/** A model call of a file of the archive: who asked and where is not among it, because both can be private. */
export type ArchivedCall = RowOf<typeof callFields>

const columns = Object.entries(getTableColumns(usageEvents))
const columnNames = sql.join(
  columns.map(([, column]) => sql.identifier(column.name)),
  sql`, `,
)
const recordValues = sql.join(
  columns.map(([name]) => sql`r.value ->> ${sql.raw(`'${name}'`)}`),
  sql`, `,
)

const selectCalls = prepare((v: Params<ViewerValues & ArchivedRecords>) =>
  manySql(
    callFields,
    sql`FROM ${usageEvents} ${call} JOIN ${accounts} ${a} ON ${a.id} = ${call.accountId}
      WHERE EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin')
      ORDER BY ${call.createdAt}, ${call.activationId}, ${call.call}`,
    sql`${viewerCte(v)}, ${usageEvents} (${columnNames}) AS (
      SELECT ${recordValues} FROM json_each(${v.json}) r
      WHERE EXISTS (SELECT 1 FROM ${archiveFiles} WHERE ${archiveFiles.key} = ${v.key}))`,
  ),
)

/** Selects the model calls of a file of the archive, for admins; a file that was never named has none. */
export const selectArchivedCalls = (
  { credential, now }: { credential: Credential | null; now: number },
  file: ArchivedRecords,
): Statement<ArchivedCall[]> => selectCalls({ ...viewerValues(credential, now), ...file })

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const v = alias(budgetAccountWindows, 'v')

/**
 * The windows `d` whose counters differ from the usage events: those of budgets, and those of accounts in
 * budgets of their roles. An event counts for each budget that pays for it, in the last window that
 * started before the event, as when the event was settled. Windows whose events are archived are left out.
 */
const differencesSql = sql`(SELECT * FROM (
  SELECT ${w.budgetId} AS budget_id, NULL AS account_id, ${w.startsAt} AS starts_at,
    ${w.spentMicrousd} AS counted_microusd, ${w.spentTokens} AS counted_tokens,
    coalesce(e.microusd, 0) AS microusd, coalesce(e.tokens, 0) AS tokens
  FROM ${budgetWindows} ${w} LEFT JOIN (
    SELECT ${b.id} AS budget_id, ${lastStartSql(b.id, sql`u.created_at`)} AS starts_at,
      sum(${shareSql(b, usageSpender, sql`u.cost_microusd`)}) AS microusd,
      sum(${shareSql(b, usageSpender, sql`(u.input_tokens + u.output_tokens)`)}) AS tokens
    FROM ${usageSpendersSql} u CROSS JOIN ${budgets} ${b} ON ${paysForSql(b, usageSpender)}
    GROUP BY 1, 2) e ON e.budget_id = ${w.budgetId} AND e.starts_at = ${w.startsAt}
  WHERE ${w.spentMicrousd} <> coalesce(e.microusd, 0) OR ${w.spentTokens} <> coalesce(e.tokens, 0)
  UNION ALL
  SELECT coalesce(${v.budgetId}, e.budget_id), coalesce(${v.accountId}, e.account_id),
    coalesce(${v.startsAt}, e.starts_at), coalesce(${v.spentMicrousd}, 0), coalesce(${v.spentTokens}, 0),
    coalesce(e.microusd, 0), coalesce(e.tokens, 0)
  FROM ${budgetAccountWindows} ${v} FULL JOIN (${accountSumsSql(sql`${usageSpendersSql} u`, usageCalls)}) e
    ON e.budget_id = ${v.budgetId} AND e.starts_at = ${v.startsAt} AND e.account_id = ${v.accountId}
  WHERE coalesce(${v.spentMicrousd}, 0) <> coalesce(e.microusd, 0)
    OR coalesce(${v.spentTokens}, 0) <> coalesce(e.tokens, 0)) a
  WHERE a.starts_at >= ${usageArchivedBeforeSql}) d`

const differenceFields = {
  budgetId: b.id,
  scope: b.scope,
  scopeId: b.scopeId,
  /** Of the account that has the window, in a budget of its role; else null. */
  accountId: sql<AccountId | null>`d.account_id`,
  startsAt: w.startsAt,
  endsAt: w.endsAt,
  countedMicrousd: number(sql`d.counted_microusd`),
  countedTokens: number(sql`d.counted_tokens`),
  eventsMicrousd: number(sql`d.microusd`),
  eventsTokens: number(sql`d.tokens`),
}

/** A window whose counters differ from the usage events. */
export type WindowDifference = RowOf<typeof differenceFields>

export const selectDifferences = prepare(() =>
  manySql(
    differenceFields,
    sql`FROM ${differencesSql} JOIN ${budgets} ${b} ON ${b.id} = d.budget_id
      JOIN ${budgetWindows} ${w} ON ${w.budgetId} = ${b.id} AND ${w.startsAt} = d.starts_at
      ORDER BY ${b.id}, ${w.startsAt}, d.account_id LIMIT ${sql.raw(String(budgetLimits.differencesMax))}`,
  ),
)

const repairBudgetWindows = prepare(() =>
  write(
    updateSet(
      budgetWindows,
      { spentMicrousd: sql`d.microusd`, spentTokens: sql`d.tokens` },
      sql`FROM ${differencesSql}
        WHERE ${budgetWindows.budgetId} = d.budget_id AND ${budgetWindows.startsAt} = d.starts_at
          AND d.account_id IS NULL`,
    ),
  ),
)

const repairAccountWindows = prepare(() =>
  writeAccountSums(
    sql`SELECT d.budget_id, d.account_id, d.starts_at, d.microusd, d.tokens
      FROM ${differencesSql} WHERE d.account_id IS NOT NULL`,
    'set',
  ),
)

/**
 * Overwrites differing counters with the sums of the usage events at execution time. Spending by requester is
 * counted again by the next sweep.
 */
export const repairWindows = (): Statement<void>[] => [
  repairBudgetWindows({}),
  repairAccountWindows({}),
  ...resetCounted(),
]
