import { and, eq, ne, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { runLists } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { bare, insertSelect } from '../../shared/db/write-sql'
import { outcomes } from '../../shared/errors'
import type { AccountId, ActivationId } from '../../shared/ids'
import { timeRange } from '../operations/audit-view'
import { canReadPostSql, canReadSql, isPostReadableSql, readersSql } from '../rules/readable-sql'
import { threadLimitFields } from '../rules/reply-limits-sql'
import { isCommentShownSql, itemTextSql } from '../rules/shown-sql'
import {
  hasTraceAccessSql,
  isRunShownSql,
  ownRequestersSql,
  traceAccessColumns,
} from '../rules/traces-sql'
import { isAwaitingProviderSql, isRequestSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations, activationTraces, runFeedback, runViews } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { communities } from '../schema/communities'
import { inboxItems } from '../schema/inbox'
import { comments, posts } from '../schema/posts'
import type { Reader } from '../viewers/reader'

const name = z
  .string()
  .trim()
  .max(100)
  .transform((text) => text.replace(/^@/, ''))

/** Filters for runs that nobody asked for, where an account is named else. */
export const nobody = '-'

const common = {
  agent: name.optional().describe('name of an agent'),
  outcome: z.enum([...outcomes, 'running', 'parked']).optional(),
  requester: name
    .optional()
    .describe(
      `name of an account that asked for the run, or ${nobody} for runs that nobody asked for`,
    ),
  text: z
    .string()
    .trim()
    .max(runLists.textCharsMax)
    .optional()
    .describe("part of the post's title, or of a task whose trace you see"),
  rating: z.enum(['good', 'bad']).optional().describe('rated like this by somebody'),
  tokens_from: z.coerce.number().int().min(0).optional().describe('at least this many tokens'),
  ...timeRange,
}

/** Filters of the list of runs in the API. */
export const runFilterQuery = z.object({
  ...common,
  cost_microusd_from: z.coerce.number().int().min(0).optional().describe('at least this cost'),
})

/** The same in the form of the page, where people write dollars. */
export const runFilterForm = z
  .object({
    ...common,
    cost_from: z
      .string()
      .trim()
      .regex(/^\d{1,9}(\.\d{1,6})?$/, 'Must be an amount in dollars such as 0.05')
      .optional(),
  })
  .transform(({ cost_from: dollars, ...filter }) => ({
    ...filter,
    cost_microusd_from: dollars === undefined ? undefined : Math.round(Number(dollars) * 1_000_000),
  }))

/** A filter of the list of runs; fields that are not set match every run. */
type RunFilter = Partial<z.output<typeof runFilterQuery>>

const x = alias(activations, 'x')
const a = alias(accounts, 'a')
const p = alias(posts, 'p')
const t = alias(activationTraces, 't')
const i = alias(inboxItems, 'i')

/** Columns of an activation as the API returns it; the query has `activations x`, `accounts a` and `posts p` in scope. */
const recordColumns = {
  id: x.id,
  agentId: x.agentId,
  agentName: a.name,
  agentKind: a.kind,
  agentDisplayName: a.displayName,
  class: x.class,
  task: x.task,
  state: x.state,
  admission: x.admission,
  outcome: x.outcome,
  error: x.error,
  model: x.model,
  definitionVersion: x.definitionVersion,
  postId: nullable(p.id),
  postTitle: nullable(p.title),
  startedAt: x.startedAt,
  deadlineAt: x.deadlineAt,
  finishedAt: x.finishedAt,
  iterations: x.iterations,
  inputTokens: x.inputTokens,
  cachedTokens: x.cachedTokens,
  outputTokens: x.outputTokens,
  costMicrousd: x.costMicrousd,
  reservedMicrousd: x.reservedMicrousd,
  isPriced: x.isPriced,
  tools: x.tools,
  replyCommentId: x.replyCommentId,
  replyRefusal: x.replyRefusal,
}

/** An activation as the API returns it. */
export type ActivationRecord = RowOf<typeof recordColumns>

const tablesFor = (
  reader: SQLWrapper,
) => sql`${activations} ${x} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
  LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostReadableSql(p, reader)}`

const tracedColumns = (reader: SQLWrapper) => ({
  ...recordColumns,
  ...traceAccessColumns(reader),
  /** JSON of a `Trace`; null until the activation has ended or parked. */
  trace: nullable(t.trace),
})

/** An activation with its trace, and with who may see all of it. */
export type TracedActivation = RowOf<ReturnType<typeof tracedColumns>>

/** Selects one activation with its trace. */
export const selectActivation = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    tracedColumns(reader),
    sql`FROM ${tablesFor(reader)} LEFT JOIN ${activationTraces} ${t} ON ${t.activationId} = ${x.id}
    WHERE ${x.id} = ${id}`,
  ),
)

const cancellableColumns = (accountId: SQL | Params<{ accountId: AccountId }>['accountId']) => ({
  id: x.id,
  agentId: x.agentId,
  state: x.state,
  /** Whether the account is one of the requesters. */
  isRequester: flag(sql`EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.claimedBy} = ${x.id}
    AND ${i.fromAccountId} = ${accountId} AND ${isRequestSql(i)})`),
})

/** What decides whether an account can cancel an activation. */
export type CancellableActivation = RowOf<ReturnType<typeof cancellableColumns>>

/** Selects an activation with whether the account is one of its requesters. */
export const selectCancellable = prepare(
  ({ id, accountId }: Params<{ id: string; accountId: AccountId }>) =>
    oneSql(cancellableColumns(accountId), sql`FROM ${activations} ${x} WHERE ${x.id} = ${id}`),
)

/** Marks an activation that has not ended as cancelled; answers with its state. */
export const markCancelRequested = (id: ActivationId, now: number) =>
  one(
    orm
      .update(activations)
      .set({ cancelRequestedAt: sql`coalesce(${activations.cancelRequestedAt}, ${now})` })
      .where(and(eq(activations.id, id), ne(activations.state, 'done')))
      .returning({ state: activations.state }),
  )

const f = alias(accounts, 'f')
const rated = alias(runFeedback, 'rated')

/** A filter of the list of runs, for a reader. */
interface RunSearch extends RunFilter {
  reader: Reader
}

/** Filter and page of the list of runs. */
interface RunPageRequest extends RunSearch {
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
  /** Of the feedback of somebody: 1 or -1. */
  rating: number | null
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
  LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostReadableSql(p, v.reader)}`

const contains = (text: SQL | typeof p.title, v: Operands): SQL =>
  sql`instr(lower(${text}), lower(${v.text})) > 0`

const nobodySql = sql.raw(`'${nobody}'`)

/** Whether a run matches the filter but for its text. */
const isMatchSql = (v: Operands): SQL => sql`
  (${v.outcome} IS NULL OR coalesce(${x.outcome}, ${x.state}) = ${v.outcome})
  AND (${v.rating} IS NULL OR EXISTS (SELECT 1 FROM ${runFeedback} ${rated}
    WHERE ${rated.activationId} = ${x.id} AND ${rated.value} = ${v.rating}))
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
const isSparse = (filter: RunFilter) => {
  const { outcome, requester, text, rating, cost_microusd_from, tokens_from } = filter
  const narrow = [outcome, requester, text, rating, cost_microusd_from, tokens_from]
  return narrow.some((each) => each !== undefined)
}

const ratingValues = { good: 1, bad: -1 } as const

function toValues(search: RunSearch, before: [number, string] | null, limit: number): ListValues {
  const { reader, agent = '', outcome, requester, text, since = 0, until = farFuture } = search
  const [at, id] = before !== null && before[0] < until ? before : [until, '']
  return {
    reader,
    agent,
    since,
    at,
    id,
    limit,
    outcome: outcome ?? null,
    requester: requester ?? null,
    text: text ?? null,
    rating: search.rating ? ratingValues[search.rating] : null,
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

const m = alias(comments, 'm')
const v = alias(approvals, 'v')
const o = alias(communities, 'o')

/** Columns of a list of activations; the query has `activations x`, `accounts a` and `posts p` in scope. */
export const activationColumns = {
  id: x.id,
  agentName: a.name,
  task: x.task,
  state: x.state,
  outcome: x.outcome,
  model: x.model,
  postTitle: nullable(p.title),
  startedAt: x.startedAt,
  finishedAt: x.finishedAt,
  tokens: sql<number>`${x.inputTokens} + ${x.outputTokens}`,
  costMicrousd: x.costMicrousd,
  isPriced: x.isPriced,
}

/** One row of a list of activations. */
export type ActivationRow = RowOf<typeof activationColumns>

/** Selects the 6 latest activations of the hub, newest first. */
export const selectLatestActivations = prepare(({ reader }: Params<{ reader: Reader }>) =>
  manySql(
    activationColumns,
    sql`FROM ${activations} ${x} JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
      LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostReadableSql(p, reader)}
      ORDER BY ${x.startedAt} DESC, ${x.id} DESC LIMIT 6`,
  ),
)

const detailColumns = (reader: SQLWrapper) => ({
  ...activationColumns,
  ...traceAccessColumns(reader),
  agentId: x.agentId,
  postCreatedAt: nullable(p.createdAt),
  agentKind: a.kind,
  /** Of the agent. */
  ownerId: a.ownerId,
  admission: x.admission,
  postId: nullable(p.id),
  definitionVersion: x.definitionVersion,
  deadlineAt: x.deadlineAt,
  reservedMicrousd: x.reservedMicrousd,
  reservedTokens: x.reservedTokens,
  iterations: x.iterations,
  inputTokens: x.inputTokens,
  cachedTokens: x.cachedTokens,
  outputTokens: x.outputTokens,
  replyCommentId: x.replyCommentId,
  replyRefusal: x.replyRefusal,
  /** They explain that. */
  limits: threadLimitFields(x.postId, sql`${x.replyRefusal} IS NOT NULL`),
  /** Whom it is private to, such as `m/cellar` and `@mira`; for admins, who may have to open it. */
  ownerNames: sql`(SELECT json_group_array(w.label) FROM (
    SELECT 'm/' || ${o.name} AS label FROM ${communities} ${o} WHERE ${o.id} = ${x.communityId} AND NOT ${canReadSql(o.id, reader)}
    UNION ALL SELECT '@' || ${f.name} FROM json_each(${ownRequestersSql}) r
      JOIN ${accounts} ${f} ON ${f.id} = r.value) w)`.mapWith((json: string): string[] =>
    JSON.parse(json),
  ),
  /** Tools whose approval a parked activation waits for. */
  waitsFor: sql`iif(${x.state} <> 'parked', '[]',
    (SELECT json_group_array(DISTINCT ${v.tool}) FROM ${approvals} ${v}
     WHERE ${v.activationId} = ${x.id} AND ${v.status} = 'pending'))`.mapWith(
    (json: string): string[] => JSON.parse(json),
  ),
  isAwaitingProvider: flag(sql`${x.state} = 'parked' AND ${isAwaitingProviderSql(x.id)}`),
  /** JSON of a `Trace`; null until the activation has ended or parked. */
  trace: nullable(t.trace),
  reply: nullable(m.content),
  replyHtml: m.html,
})

/** One activation with everything that its page shows. */
export type ActivationDetail = RowOf<ReturnType<typeof detailColumns>>

const preparePage = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    detailColumns(reader),
    sql`FROM ${activations} ${x} JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
    LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostReadableSql(p, reader)}
    LEFT JOIN ${activationTraces} ${t} ON ${t.activationId} = ${x.id}
    LEFT JOIN ${comments} ${m} ON ${m.id} = ${x.replyCommentId} AND ${isCommentShownSql(m)}
      AND ${canReadPostSql(m.postId, reader)}
    WHERE ${x.id} = ${id}`,
  ),
)

const requesterColumns = { name: f.name, kind: f.kind }

/** An account that asked for the activation. */
export type Requester = RowOf<typeof requesterColumns>

const selectRequesters = prepare(({ id }: Params<{ id: string }>) =>
  manySql(
    requesterColumns,
    sql`FROM ${inboxItems} ${i} JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
    WHERE ${i.claimedBy} = ${id} AND ${isRequestSql(i)}
    GROUP BY ${f.id} ORDER BY min(${i.createdAt}) LIMIT 20`,
  ),
)

/** Returns the statements of an activation's page. */
export const activationStatements = (id: string, reader: Reader) => ({
  activation: preparePage({ id, reader }),
  requesters: selectRequesters({ id }),
})

/** A filter of the list of runs under a name. */
export interface RunView {
  name: string
  /** Query string of the list. */
  query: string
}

/** Selects the views of a reader, by name. */
export const selectRunViews: (of: { reader: Reader }) => Statement<RunView[]> = prepare(
  ({ reader }: Params<{ reader: Reader }>) =>
    manySql(
      { name: runViews.name, query: runViews.query },
      sql`FROM ${runViews} WHERE ${runViews.accountId} IN (SELECT r.id FROM ${readersSql(reader)} r)
        ORDER BY ${runViews.name} LIMIT ${sql.raw(String(runLists.viewsMax))}`,
    ),
)

type Saved = RunView & { accountId: AccountId; now: number }

/** Saves a view, in place of one with the same name. Answers false when the account has too many. */
export const saveRunView: (view: Saved) => Statement<boolean> = prepare((v: Params<Saved>) =>
  writeChanges(
    insertSelect(
      runViews,
      { accountId: v.accountId, name: v.name, query: v.query, createdAt: v.now },
      sql`WHERE (SELECT count(*) FROM ${runViews} WHERE ${runViews.accountId} = ${v.accountId}
          AND ${runViews.name} <> ${v.name}) < ${sql.raw(String(runLists.viewsMax))}
        ON CONFLICT (${bare(runViews.accountId)}, ${bare(runViews.name)})
          DO UPDATE SET ${bare(runViews.query)} = excluded.${bare(runViews.query)}`,
    ),
  ),
)

type Named = { accountId: AccountId; name: string }

export const deleteRunView: (of: Named) => Statement<void> = prepare((v: Params<Named>) =>
  write(
    sql`DELETE FROM ${runViews} WHERE ${runViews.accountId} = ${v.accountId} AND ${runViews.name} = ${v.name}`,
  ),
)
