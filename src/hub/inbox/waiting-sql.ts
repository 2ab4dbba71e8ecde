import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { scheduling } from '../../shared/config'
import {
  manySql,
  mapStatement,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { settings } from '../schema/system'
import { isAgentHeldSql } from './held-sql'

/** Waiting agents that a commit wakes at most: one for its own slot, plus some slack. */
const waitingMax = 3
const waitingLookMax = 200

const p = alias(activations, 'p')

/** Columns of an inbox item that decide whether it waits. */
type InboxItem = Record<'type' | 'readAt' | 'isTask' | 'claimedBy' | 'activationId', SQLWrapper>

/** Whether an admin paused all agents. */
export const isHubPausedSql: SQL = sql`EXISTS (SELECT 1 FROM ${settings} WHERE ${settings.key} = 'paused' AND ${settings.value} = 'true')`

/**
 * Whether an inbox item is a task that no activation has claimed. An approval decision is a task only
 * while its activation is parked.
 */
export const isWaitingSql = (item: InboxItem): SQL => sql`
  ${item.readAt} IS NULL AND ${item.isTask} = 1 AND ${item.claimedBy} IS NULL
  AND (${item.type} <> 'approval_decision'
    OR EXISTS (SELECT 1 FROM ${activations} ${p} WHERE ${p.id} = ${item.activationId} AND ${p.state} = 'parked'))`

/**
 * Whether an inbox item only ends a parked activation that was cancelled. Only its commit runs then, so a
 * pause does not delay it.
 */
export const isPendingCancellationSql = (
  item: Pick<InboxItem, 'type' | 'activationId'>,
): SQL => sql`
  (${item.type} = 'approval_decision' AND EXISTS (SELECT 1 FROM ${activations} ${p}
    WHERE ${p.id} = ${item.activationId} AND ${p.state} = 'parked' AND ${p.cancelRequestedAt} IS NOT NULL))`

/**
 * The unread inbox items of an account, as a table of FROM; needs the condition `read_at IS NULL`. The
 * index is named, because SQLite would otherwise read all items that the account ever got.
 *
 * @param item an alias of `inbox_items`
 */
export const unreadItemsSql = (item: SQLWrapper): SQL =>
  sql`${inboxItems} ${item} INDEXED BY inbox_unread`

const d = alias(inboxItems, 'd')

/** The number of tasks that wait for an agent. */
export const inboxDepthSql = (agent: SQLWrapper): SQL<number> => sql<number>`
  (SELECT count(*) FROM ${unreadItemsSql(d)} WHERE ${d.accountId} = ${agent} AND ${isWaitingSql(d)})`

const w = alias(inboxItems, 'w')
const a = alias(agents, 'a')
const r = alias(activations, 'r')

/** Whether an agent runs. */
export const isAgentRunningSql = (agentId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${activations} ${r} WHERE ${r.agentId} = ${agentId} AND ${r.state} = 'running')`

export const runningCountSql = sql<number>`(SELECT count(*) FROM ${activations} WHERE ${activations.state} = 'running')`

/**
 * The slots that are taken from new items: those of running agents, and of agents that were just woken for other tasks
 * and have not claimed them yet.
 *
 * @param itemIds JSON list of the new items
 */
export const takenSlotsSql = (itemIds: SQLWrapper, now: SQLWrapper): SQL<number> => sql<number>`
  (${runningCountSql} + (SELECT count(*) FROM (SELECT DISTINCT ${w.accountId} FROM ${inboxItems} ${w}
    WHERE ${isWaitingSql(w)} AND ${w.createdAt} > ${now} - ${scheduling.claimMs} AND ${w.createdAt} <= ${now}
      AND ${w.id} NOT IN (SELECT value FROM json_each(${itemIds})) AND NOT ${isAgentRunningSql(w.accountId)}
    LIMIT ${waitingLookMax})))`

/**
 * Selects agents with unclaimed tasks that can run now, the longest waiting first. Only the oldest tasks
 * are read, so that a large backlog does not slow down every commit; the sweep finds the other agents.
 * They are grouped first: whether an agent can run is looked up once, not for each of its tasks.
 */
export const selectAgentsToWake = (now: number): Statement<AccountId[]> =>
  mapStatement(selectWaiting({ now }), (rows) => rows.map(({ id }) => id))

const selectWaiting = prepare(({ now }: Params<{ now: number }>) =>
  manySql(
    { id: sql<AccountId>`i.account_id`, since: sql<number>`i.since`.as('since') },
    sql`FROM (
      SELECT account_id, min(created_at) AS since FROM (
        SELECT ${w.accountId}, ${w.createdAt} FROM ${inboxItems} ${w}
        WHERE ${isWaitingSql(w)} AND NOT ${isHubPausedSql}
        ORDER BY ${w.createdAt} LIMIT ${waitingLookMax})
      GROUP BY account_id) i
    JOIN ${agents} ${a} ON ${a.accountId} = i.account_id
    WHERE NOT ${isAgentRunningSql(sql`i.account_id`)} AND NOT ${isAgentHeldSql(a, now)}
    ORDER BY since LIMIT ${waitingMax}`,
  ),
)
