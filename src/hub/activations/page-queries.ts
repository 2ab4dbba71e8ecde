import { type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare } from '../../shared/db/statement'
import { canReadPostSql, canReadSql } from '../communities/readable-sql'
import { isRequestSql } from '../inbox/requester-sql'
import { isAwaitingProviderSql } from '../outages/wait-sql'
import { threadLimitFields } from '../reply-limits/limits-sql'
import { accounts } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { isCommentShownSql, isPostShownSql } from '../shown-sql'
import { ownRequestersSql, traceAccessColumns } from '../traces/trace-access-queries'
import type { Reader } from '../viewers/reader'

const x = alias(activations, 'x')
const a = alias(accounts, 'a')
const p = alias(posts, 'p')
const t = alias(activationTraces, 't')
const m = alias(comments, 'm')
const v = alias(approvals, 'v')
const i = alias(inboxItems, 'i')
const f = alias(accounts, 'f')
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

/** Selects the 15 latest activations of the hub, newest first. */
export const selectLatestActivations = prepare(({ reader }: Params<{ reader: Reader }>) =>
  manySql(
    activationColumns,
    sql`FROM ${activations} ${x} JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
      LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostShownSql(p)}
        AND ${canReadSql(p.communityId, reader)}
      ORDER BY ${x.startedAt} DESC, ${x.id} DESC LIMIT 15`,
  ),
)

const detailColumns = (reader: SQLWrapper) => ({
  ...activationColumns,
  ...traceAccessColumns(reader),
  agentId: x.agentId,
  agentKind: a.kind,
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

const selectActivation = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    detailColumns(reader),
    sql`FROM ${activations} ${x} JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
    LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostShownSql(p)}
      AND ${canReadSql(p.communityId, reader)}
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
  activation: selectActivation({ id, reader }),
  requesters: selectRequesters({ id }),
})
