import { type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { holdsSql, isAwaitingProviderSql, isHubPausedSql } from '../../hub/rules/waiting-sql'
import { accounts } from '../../hub/schema/accounts'
import { activations } from '../../hub/schema/activations'
import { agents } from '../../hub/schema/definitions'
import { inboxItems } from '../../hub/schema/inbox'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../../hub/viewers/queries'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import { oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'

const i = alias(inboxItems, 'i')
const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const x = alias(activations, 'x')

const pendingReplyFields = (now: SQLWrapper) => ({
  agentName: a.name,
  /** Null before the activation has started. */
  activationId: nullable(x.id),
  isParked: flag(sql`coalesce(${x.state} = 'parked', 0)`),
  /** It waits for a provider that is down, not for approval. */
  awaitsProvider: flag(sql`coalesce(${isAwaitingProviderSql(x.id)}, 0)`),
  /** What keeps it from starting; null when nothing does. */
  hold: sql<'paused' | 'hub_paused' | 'stopped' | 'provider_down' | null>`CASE
    WHEN ${isHubPausedSql} THEN 'hub_paused' WHEN ${holdsSql(g, now).isPaused} THEN 'paused'
    WHEN ${holdsSql(g, now).isStopped} THEN 'stopped'
    WHEN ${holdsSql(g, now).awaitsProvider} THEN 'provider_down' END`,
})

/** An agent that has not answered a message yet. */
export type PendingReplyRow = RowOf<ReturnType<typeof pendingReplyFields>>

const selectPending = prepare((v: Params<ViewerValues & { conversationId: string }>) =>
  oneSql(
    pendingReplyFields(v.now),
    sql`FROM ${inboxItems} ${i} JOIN ${accounts} ${a} ON ${a.id} = ${i.accountId}
      JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${activations} ${x} ON ${x.id} = ${i.claimedBy}
      WHERE ${i.conversationId} = ${v.conversationId} AND ${i.isTask} = 1 AND ${i.readAt} IS NULL
        AND ${i.fromAccountId} = (SELECT ${viewer.id} FROM ${viewer})
      ORDER BY ${x.id} IS NULL, ${i.createdAt} LIMIT 1`,
    viewerCte(v),
  ),
)

/** Selects the agent whose answer is pending in one of the viewer's conversations. */
export const selectPendingReply = (
  credential: Credential,
  now: number,
  conversationId: string,
): Statement<PendingReplyRow | undefined> =>
  selectPending({ ...viewerValues(credential, now), conversationId })
