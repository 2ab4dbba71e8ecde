import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { AccountId, CommunityId } from '../../shared/ids'
import { ownedSql } from '../accounts/owned-sql'
import { isStoppedSql } from '../bans/ban-sql'
import { unfiltered } from '../communities/readable-sql'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { requestersOfItemSql } from './requester-sql'
import { isWaitingSql, unreadItemsSql } from './waiting-sql'

const i = alias(inboxItems, 'i')
const w = alias(inboxItems, 'w')
const p = alias(posts, 'sp')

/** Refuses waiting tasks: they stay in the inbox with the reason, and wake nobody. */
const refuse = (where: SQL): Statement<void> =>
  write(
    updateSet(
      inboxItems,
      { isTask: false, refusal: 'requester_stopped' },
      sql`WHERE ${inboxItems.id} IN (${where})`,
    ),
  )

const isForSql = (account: AccountId): SQL =>
  sql`EXISTS (SELECT 1 FROM json_each(${requestersOfItemSql(i)}) n
    WHERE n.value = ${account} OR n.value IN ${ownedSql(account)})`

/** Columns of an inbox item that decide whether it must not run. */
type Task = Record<'type' | 'postId' | 'requesters' | 'fromAccountId', SQLWrapper>

const communityOfSql = (item: Task): SQL =>
  sql`(SELECT ${p.communityId} FROM ${posts} ${p} ${unfiltered('operator')} WHERE ${p.id} = ${item.postId})`

/** Refuses the tasks that wait for any agent on behalf of an account, on the whole hub or in a community. */
export const refuseItemsFor = (
  requester: AccountId,
  community: CommunityId | null = null,
): Statement<void> =>
  refuse(sql`SELECT ${i.id} FROM ${inboxItems} ${i} INDEXED BY inbox_waiting
    WHERE ${isWaitingSql(i)} AND ${i.type} <> 'approval_decision' AND ${isForSql(requester)}
      AND (${community} IS NULL OR ${communityOfSql(i)} = ${community})`)

/**
 * Whether a task must not run: a requester is disabled, or banned or muted on the whole hub or where the
 * thread of the task is.
 */
export const isItemStoppedSql = (item: Task, now: SQLWrapper): SQL =>
  sql`(${item.type} <> 'approval_decision' AND EXISTS (SELECT 1 FROM json_each(${requestersOfItemSql(item)}) n
    WHERE ${isStoppedSql(sql`n.value`, now, communityOfSql(item))}))`

const endOfTime = sql.raw('9000000000000000')

/**
 * Refuses the next tasks of an agent as far as they must not run, up to the first one that may. Those
 * behind it are refused when they come first, so that a long queue costs nothing.
 */
export const refuseItemsOfStopped = prepare(
  ({ agentId, now }: Params<{ agentId: AccountId; now: number }>) =>
    refuse(sql`WITH open AS MATERIALIZED (SELECT ${w.createdAt} AS at, ${w.id} AS id FROM ${unreadItemsSql(w)}
        WHERE ${w.accountId} = ${agentId} AND ${isWaitingSql(w)} AND NOT ${isItemStoppedSql(w, now)}
        ORDER BY ${w.createdAt}, ${w.id} LIMIT 1)
      SELECT ${i.id} FROM ${unreadItemsSql(i)}
      WHERE ${i.accountId} = ${agentId} AND ${isWaitingSql(i)} AND ${isItemStoppedSql(i, now)}
        AND (${i.createdAt}, ${i.id}) < (coalesce((SELECT at FROM open), ${endOfTime}), coalesce((SELECT id FROM open), ''))`),
)
