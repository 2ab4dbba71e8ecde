import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { scheduling } from '../../shared/config'
import { flag } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { agents, explorers, outageWaits } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { settings } from '../schema/system'
import { isStoppedAccountSql, isStoppedSql } from '../viewers/ban-sql'

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

/** Columns of a row of `agents`. */
type Agent = Record<'accountId' | 'isPaused', SQLWrapper>

/** What holds an agent's runs back, each for itself. */
export const holdsSql = (agent: Agent, now: SQLWrapper) => ({
  /** By an admin. */
  isPaused: sql`${agent.isPaused}`,
  /** Until its provider is back. */
  awaitsProvider: awaitsProviderSql(agent.accountId),
  /** Its account is disabled, banned or muted. */
  isStopped: isStoppedSql(agent.accountId, now),
})

/** Whether an agent starts no run, whatever its tasks and budgets are. */
export function isAgentHeldSql(agent: Agent, now: SQLWrapper): SQL {
  const { isPaused, awaitsProvider, isStopped } = holdsSql(agent, now)
  return sql`(${isPaused} OR ${awaitsProvider} OR ${isStopped})`
}

/**
 * The same for a query that has the columns of the account at hand.
 *
 * @param account the columns of its account
 */
export const isHeldSql = (
  { accountId, isPaused }: Agent,
  account: Parameters<typeof isStoppedAccountSql>[0],
  now: SQLWrapper,
): SQL =>
  sql`(${isPaused} OR ${awaitsProviderSql(accountId)} OR ${isStoppedAccountSql(account, now)})`

const requester = alias(accounts, 'r')

/** Columns of an inbox item that say for whom it is. */
type Item = Record<'requesters' | 'fromAccountId', SQLWrapper>

/** The accounts that an inbox item acts for, as a JSON list of ids; empty: the hub itself. */
export const requestersOfItemSql = ({ requesters, fromAccountId }: Item): SQL =>
  sql`coalesce(${requesters}, json_array(${fromAccountId}))`

/** The lowest role of the accounts in a JSON list, in ascending order; the hub itself is above all. */
const rankSql = (requesters: SQL): SQL => sql`
  iif(${requesters} = '[]', 3, coalesce((SELECT min(CASE ${requester.role} WHEN 'guest' THEN 0 WHEN 'member' THEN 1 ELSE 2 END)
    FROM ${accounts} ${requester} WHERE ${requester.id} IN (SELECT value FROM json_each(${requesters}))), 0))`

/** Whether the accounts in a JSON list are guests. */
export const isForGuestSql = (requesters: SQL): SQL => sql`(${rankSql(requesters)} = 0)`

/**
 * Whether one run may answer two inbox items: those of requesters with the same role; a guest's only with
 * those of the same guest.
 */
export const canShareRunSql = (item: Item, first: Item): SQL => {
  const [own, other] = [requestersOfItemSql(item), requestersOfItemSql(first)]
  return sql`(${own} = ${other}
    OR (${rankSql(own)} = ${rankSql(other)} AND ${rankSql(own)} > 0))`
}

/** Whether a claimed inbox item is a request of its author: a decision and a moderator's comment are not. */
export const isRequestSql = ({ type, cause }: Record<'type' | 'cause', SQLWrapper>): SQL =>
  sql`(${type} <> 'approval_decision' AND coalesce(${cause}, '') <> 'moderation')`

/** Whether an agent of the hub explores, so that the scheduler needs to know of news. */
export const hasExplorersSql = flag(sql`EXISTS (SELECT 1 FROM ${explorers})`)

const wait = alias(outageWaits, 'w')

/** Whether an agent waits for a provider that is down: it starts no other run until then. */
const awaitsProviderSql = (agentId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${outageWaits} ${wait} WHERE ${wait.agentId} = ${agentId})`

/** Whether an activation waits for a provider that is down. */
export const isAwaitingProviderSql = (activationId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${outageWaits} ${wait} WHERE ${wait.activationId} = ${activationId})`

/** Whether an activation runs: the condition of every write of COMMIT, so that a repeat changes nothing. */
export const isRunningSql = (activationId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${activations} WHERE ${activations.id} = ${activationId} AND ${activations.state} = 'running')`
