import { and, eq, ne, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import { one, oneSql, orm, type Params, prepare } from '../../shared/db/statement'
import type { AccountId, ActivationId } from '../../shared/ids'
import { canReadSql } from '../communities/readable-sql'
import { isRequestSql } from '../inbox/requester-sql'
import { accounts } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { isPostShownSql } from '../shown-sql'
import { traceAccessColumns } from '../traces/trace-access-queries'
import type { Reader } from '../viewers/reader'

const x = alias(activations, 'x')
const a = alias(accounts, 'a')
const p = alias(posts, 'p')
const t = alias(activationTraces, 't')
const i = alias(inboxItems, 'i')

/** Columns of an activation as the API returns it; the query has `activations x`, `accounts a` and `posts p` in scope. */
export const recordColumns = {
  id: x.id,
  agentId: x.agentId,
  agentName: a.name,
  agentKind: a.kind,
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
  LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostShownSql(p)}
    AND ${canReadSql(p.communityId, reader)}`

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
