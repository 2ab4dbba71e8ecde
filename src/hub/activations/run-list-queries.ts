import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { runLists } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import { canReadSql } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { isPostShownSql, itemTextSql } from '../shown-sql'
import { hasTraceAccessSql, isRunShownSql } from '../traces/trace-access-queries'
import type { Reader } from '../viewers/reader'
import { nobody, type RunFilter } from './filter'
import { recordColumns } from './list-queries'

const x = alias(activations, 'x')
const a = alias(accounts, 'a')
const p = alias(posts, 'p')
const i = alias(inboxItems, 'i')
const f = alias(accounts, 'f')

/** A filter of the list of runs, for a reader. */
export interface RunSearch extends RunFilter {
  reader: Reader
}

/** Filter and page of the list of runs. */
export interface RunPageRequest extends RunSearch {
  /** Keyset: start time and id of the last run of the page before. */
  before: [number, string] | null
  limit: number
}

interface ListValues {
  reader: Reader
  agent: string
  outcome: string | null
  requester: string | null
  text: string | null
  costFrom: number
  tokensFrom: number
  since: number
  at: number
  id: string
  scanned: number
  limit: number
}

type Operands = Params<ListValues>

/** Statements of the same text, with and without the agent: so that the index by agent applies. */
function prepareList<Result>(build: (v: Operands, window: SQL) => Statement<Result>) {
  const toWindow = (v: Operands, isOfAgent: SQL | undefined) => sql`${activations} ${x}
    WHERE (${x.startedAt}, ${x.id}) < (${v.at}, ${v.id}) AND ${x.startedAt} >= ${v.since}${isOfAgent}
    ORDER BY ${x.startedAt} DESC, ${x.id} DESC`
  const { id, name } = accounts
  const all = prepare((v: Operands) => build(v, toWindow(v, undefined)))
  const ofAgent = prepare((v: Operands) =>
    build(
      v,
      toWindow(
        v,
        sql` AND ${x.agentId} = (SELECT ${id} FROM ${accounts} WHERE ${name} = ${v.agent})`,
      ),
    ),
  )
  return (filter: RunFilter, values: ListValues): Statement<Result> =>
    filter.agent === undefined ? all(values) : ofAgent(values)
}

/**
 * The newest runs of a window with their agent and post. They come in the order of the window without sorting,
 * so that a page ends when it is full.
 */
const tablesSql = (v: Operands, window: SQL): SQL => sql`
  FROM (SELECT * FROM ${window} LIMIT ${v.scanned}) ${x} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
  LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostShownSql(p)}
    AND ${canReadSql(p.communityId, v.reader)}`

const contains = (text: SQL | typeof p.title, v: Operands): SQL =>
  sql`instr(lower(${text}), lower(${v.text})) > 0`

const nobodySql = sql.raw(`'${nobody}'`)

/** Whether a run matches the filter but for its text. */
const isMatchSql = (v: Operands): SQL => sql`
  (${v.outcome} IS NULL OR coalesce(${x.outcome}, ${x.state}) = ${v.outcome})
  AND ${x.costMicrousd} >= ${v.costFrom} AND ${x.inputTokens} + ${x.outputTokens} >= ${v.tokensFrom}
  AND (${v.requester} IS NULL OR (${v.requester} = ${nobodySql} AND ${x.requesters} = '[]') OR EXISTS (SELECT 1 FROM json_each(${x.requesters}) q
    WHERE q.value = (SELECT ${accounts.id} FROM ${accounts} WHERE ${accounts.name} = ${v.requester})))
  AND ${isRunShownSql(v.reader)}`

/** The condition of a filter, for runs whose page shows the reader who asked for them. */
const matchSql = (v: Operands): SQL => sql`${isMatchSql(v)}
  AND (${v.text} IS NULL OR ${contains(p.title, v)} OR (${hasTraceAccessSql(v.reader)} AND EXISTS (
    SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.claimedBy} = ${x.id} AND ${i.isTask} = 1 AND ${contains(itemTextSql(i), v)})))`

const selectRecords = prepareList((v, window) =>
  manySql(recordColumns, sql`${tablesSql(v, window)} WHERE ${matchSql(v)} LIMIT ${v.limit}`),
)

const rowColumns = {
  id: x.id,
  at: x.startedAt,
  startedAt: x.startedAt,
  agentName: a.name,
  task: x.task,
  state: x.state,
  outcome: x.outcome,
  model: x.model,
  postTitle: nullable(p.title),
  finishedAt: x.finishedAt,
  tokens: sql<number>`${x.inputTokens} + ${x.outputTokens}`,
  costMicrousd: x.costMicrousd,
  isPriced: x.isPriced,
  modelCalls: x.iterations,
  /** Names of the accounts that asked for it. */
  requesters: sql`(SELECT json_group_array(${f.name}) FROM json_each(${x.requesters}) q
    JOIN ${accounts} ${f} ON ${f.id} = q.value)`.mapWith((json: string): string[] =>
    JSON.parse(json),
  ),
}

/** One run of the list. */
export type RunRow = RowOf<typeof rowColumns>

const selectRows = prepareList((v, window) =>
  manySql(rowColumns, sql`${tablesSql(v, window)} WHERE ${matchSql(v)} LIMIT ${v.limit}`),
)

const totalColumns = {
  runs: number(sql`count(*)`),
  costMicrousd: number(sql`coalesce(sum(${x.costMicrousd}), 0)`),
  isPriced: flag(sql`coalesce(min(${x.isPriced}), 1)`),
  tokens: number(sql`coalesce(sum(${x.inputTokens} + ${x.outputTokens}), 0)`),
  modelCalls: number(sql`coalesce(sum(${x.iterations}), 0)`),
}

/** Sums of the runs that match a filter. */
export type RunTotals = RowOf<typeof totalColumns>

const noTotals: RunTotals = { runs: 0, costMicrousd: 0, isPriced: true, tokens: 0, modelCalls: 0 }

const selectTotals = prepareList((v, window) =>
  oneSql(
    totalColumns,
    sql`FROM (SELECT * FROM ${window} LIMIT ${v.scanned}) ${x} WHERE ${isMatchSql(v)}`,
  ),
)

/** The same with a text, for which agents and posts of the runs are read, too. */
const selectTotalsOfText = prepareList((v, window) =>
  oneSql(totalColumns, sql`${tablesSql(v, window)} WHERE ${matchSql(v)}`),
)

const edgeColumns = { at: x.startedAt, id: x.id }

const selectEdge = prepareList((v, window) =>
  oneSql(edgeColumns, sql`FROM ${window} LIMIT 1 OFFSET ${v.scanned} - 1`),
)

const farFuture = 9_000_000_000_000_000

/** Whether a filter can leave out many runs in a row: then a page looks at a limited number of them. */
const isSparse = ({ outcome, requester, text, cost_microusd_from, tokens_from }: RunFilter) =>
  [outcome, requester, text, cost_microusd_from, tokens_from].some((each) => each !== undefined)

function toValues(search: RunSearch, before: [number, string] | null, limit: number): ListValues {
  const { reader, agent = '', outcome, requester, text, since = 0, until = farFuture } = search
  const [at, id] = before !== null && before[0] < until ? before : [until, '']
  return {
    ...{ reader, agent, since, at, id, limit },
    outcome: outcome ?? null,
    requester: requester ?? null,
    text: text ?? null,
    costFrom: search.cost_microusd_from ?? 0,
    tokensFrom: search.tokens_from ?? 0,
    scanned: runLists.scannedMax,
  }
}

/** Where a page or the totals stop looking; undefined when they look at all runs of the filter's time. */
export type Edge = RowOf<typeof edgeColumns>

const edgeOf = (search: RunSearch, before: [number, string] | null): Statement<Edge | undefined> =>
  selectEdge(search, toValues(search, before, 1))

/**
 * Returns the statements of a page of the API, newest first. A filter looks at a limited number of runs: a page
 * can be short, and the next one goes on at the edge.
 */
export const recordStatements = (request: RunPageRequest) => pageStatements(request, selectRecords)

function pageStatements<Row>(
  request: RunPageRequest,
  select: (filter: RunFilter, values: ListValues) => Statement<Row[]>,
) {
  const { before, limit } = request
  const values = toValues(request, before, limit)
  const isLimited = isSparse(request)
  return {
    rows: select(request, isLimited ? values : { ...values, scanned: farFuture }),
    edge: isLimited ? edgeOf(request, before) : null,
  }
}

/** Selects the sums of the runs that match a filter, of the newest ones that a filter looks at. */
const totalsOf = (search: RunSearch): Statement<RunTotals> => {
  const select = search.text === undefined ? selectTotals : selectTotalsOfText
  return mapStatement(select(search, toValues(search, null, 1)), (row) => row ?? noTotals)
}

/** Returns the statements of the totals, with the edge where they end. */
export const totalsStatements = (search: RunSearch) => ({
  totals: totalsOf(search),
  totalsEdge: edgeOf(search, null),
})

/** Returns the statements of a page of the list, and those of the totals if they are asked for. */
export const runListStatements = (request: RunPageRequest, hasTotals: boolean) => ({
  ...pageStatements(request, selectRows),
  totals: hasTotals ? totalsOf(request) : null,
  totalsEdge: hasTotals ? edgeOf(request, null) : null,
})

/** Selects the runs of a CSV, newest first. */
export const selectRunsForCsv = (search: RunSearch): Statement<RunRow[]> =>
  selectRows(search, toValues(search, null, runLists.csvRowsMax))

/**
 * Returns the runs of a page and the position of the next one: after the last run, or at the edge when the page
 * is not full.
 */
export function splitRuns<Row extends { startedAt: number; id: string }>(
  rows: Row[],
  edge: Edge | undefined | null,
  limit: number,
): { page: Row[]; next: [number, string] | null } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  if (rows.length > limit && last) return { page, next: [last.startedAt, last.id] }
  return { page, next: edge ? [edge.at, edge.id] : null }
}
