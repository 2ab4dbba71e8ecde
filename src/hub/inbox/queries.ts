import { and, eq, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import type { AccountId, ActivationId } from '../../shared/ids'
import { canReadPostSql, canReadSql } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { isItemGoneSql, isPostShownSql, isUnreadSql, itemTextSql } from '../shown-sql'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { actorReader, type Reader, requestReader } from '../viewers/reader'
import { isForGuestSql, requestersOfItemSql } from './requester-sql'
import { unreadItemsSql } from './waiting-sql'

const f = alias(accounts, 'f')
const i = alias(inboxItems, 'i')
const own = alias(inboxItems, 'own')
const p = alias(posts, 'p')
const m = alias(comments, 'm')

/** Whether a moderator removed the post or comment that an item is about. */
const isRemovedSql = sql`(${p.removalId} IS NOT NULL
  OR EXISTS (SELECT 1 FROM ${comments} ${m} WHERE ${m.id} = ${i.commentId} AND ${m.removalId} IS NOT NULL))`

const itemFields = {
  id: i.id,
  type: i.type,
  postId: i.postId,
  commentId: i.commentId,
  content: sql<string>`CASE WHEN NOT ${isItemGoneSql(i)} THEN ${itemTextSql(i)}
    WHEN ${isRemovedSql} THEN '[removed by a moderator]' ELSE '[deleted]' END`,
  createdAt: i.createdAt,
  /** What is gone counts as read. */
  readAt: sql<number | null>`coalesce(${i.readAt}, iif(${isItemGoneSql(i)}, ${i.createdAt}, NULL))`,
  fromId: nullable(f.id),
  fromName: nullable(f.name),
  fromKind: nullable(f.kind),
  isUntrusted: flag(sql`(${i.isUntrusted} = 1 OR ${isForGuestSql(requestersOfItemSql(i))})`),
  postTitle: sql<
    string | null
  >`iif(${isPostShownSql(p)}, ${p.title}, iif(${p.removalId} IS NULL, '[deleted]', '[removed]'))`,
  conversationId: i.conversationId,
}

const itemTables = sql`${inboxItems} ${i} LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
  LEFT JOIN ${posts} ${p} ON ${p.id} = ${i.postId}`

/** Whether the post of an item, if it has one, is one that the reader reads. */
const isReadableSql = (reader: SQLWrapper): SQL =>
  sql`(${i.postId} IS NULL OR ${canReadSql(sql`coalesce(${p.communityId}, '')`, reader)})`

/** An inbox item with its sender and post. */
export type InboxRow = RowOf<typeof itemFields>

/** Filter and page of an inbox. */
export interface InboxPageRequest {
  isUnread: boolean
  /** Keyset: time and id of the last item seen. */
  before: [number, string] | null
  limit: number
}

const farFuture = 9_000_000_000_000_000

type OwnPageValues = ViewerValues & {
  reader: Reader
  beforeAt: number
  beforeId: string
  limit: number
}

const prepareOwnItems = (condition: SQL) =>
  prepare((v: Params<OwnPageValues>) =>
    manySql(
      itemFields,
      sql`FROM ${itemTables}
        WHERE ${i.accountId} = (SELECT ${viewer.id} FROM ${viewer})
          AND (${i.createdAt}, ${i.id}) < (${v.beforeAt}, ${v.beforeId}) ${condition}
          AND ${isReadableSql(v.reader)}
        ORDER BY ${i.createdAt} DESC, ${i.id} DESC LIMIT ${v.limit}`,
      viewerCte(v),
    ),
  )

const selectAllOwnItems = prepareOwnItems(sql``)
const selectUnreadOwnItems = prepareOwnItems(sql`AND ${isUnreadSql(i)}`)

/**
 * Selects a page of the viewer's inbox, newest first. The viewer is a subquery, so authentication costs
 * no extra round trip.
 */
export const selectOwnItems = (
  credential: Credential | null,
  now: number,
  { isUnread, before, limit }: InboxPageRequest,
): Statement<InboxRow[]> => {
  const [beforeAt, beforeId] = before ?? [farFuture, '']
  const select = isUnread ? selectUnreadOwnItems : selectAllOwnItems
  const reader = requestReader(credential, now)
  return select({ ...viewerValues(credential, now), reader, beforeAt, beforeId, limit })
}

interface ItemsRequest {
  accountId: AccountId
  activationId: ActivationId | null
  reader: Reader
  limit: number
}

/**
 * Selects the newest items of an account, for tools. Of private items an activation reads only those of
 * its own conversation, for the same requesters, and its own task, because its reply may be public.
 */
const selectReadableItems = prepare(
  ({ accountId, activationId, reader, limit }: Params<ItemsRequest>) =>
    manySql(
      itemFields,
      sql`FROM ${itemTables}
      WHERE ${i.accountId} = ${accountId} AND (${activationId} IS NULL
        OR NOT (${i.type} = 'dm' OR coalesce(${i.task}, '') = 'manual')
        OR ${i.claimedBy} = ${activationId}
        OR EXISTS (SELECT 1 FROM ${inboxItems} ${own}
          WHERE ${own.claimedBy} = ${activationId} AND ${own.conversationId} = ${i.conversationId}
            AND ${requestersOfItemSql(own)} = ${requestersOfItemSql(i)}))
        AND ${isReadableSql(reader)}
      ORDER BY ${i.createdAt} DESC, ${i.id} DESC LIMIT ${limit}`,
    ),
)

/** Selects the newest items of an account that an activation can read; without one, all of them. */
export const selectItems = (
  { accountId, activationId }: Pick<ItemsRequest, 'accountId' | 'activationId'>,
  limit: number,
): Statement<InboxRow[]> => {
  const reader = actorReader({ accountId, activationId })
  return selectReadableItems({ accountId, activationId, reader, limit })
}

const countUnread = prepare((v: Params<ViewerValues & { reader: Reader }>) =>
  oneSql(
    { unread: number(sql`count(*)`) },
    sql`FROM (SELECT 1 FROM ${unreadItemsSql(i)}
      WHERE ${i.accountId} = (SELECT ${viewer.id} FROM ${viewer}) AND ${isUnreadSql(i)}
        AND ${canReadPostSql(i.postId, v.reader)} LIMIT ${sql.raw(String(limits.unreadCountMax))})`,
    viewerCte(v),
  ),
)

/** Counts the unread items of the viewer's inbox, up to `limits.unreadCountMax`. */
export const countOwnUnread = (credential: Credential | null, now: number): Statement<number> =>
  mapStatement(
    countUnread({ ...viewerValues(credential, now), reader: requestReader(credential, now) }),
    (row) => row?.unread ?? 0,
  )

/**
 * Marks items as read. An agent's open task stays unread: only the commit of an activation consumes it,
 * so that no task is lost.
 */
const markRead = (accountId: AccountId, now: number, condition?: SQL): Statement<void> =>
  write(
    orm
      .update(inboxItems)
      .set({ readAt: now })
      .where(
        and(
          eq(inboxItems.accountId, accountId),
          isNull(inboxItems.readAt),
          eq(inboxItems.isTask, false),
          condition,
        ),
      ),
  )

/** Marks the given items as read. */
export const markItemsRead = (accountId: AccountId, now: number, ids: string[]): Statement<void> =>
  markRead(
    accountId,
    now,
    sql`${inboxItems.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`,
  )

/** Marks all items of an account as read. */
export const markAllItemsRead = (accountId: AccountId, now: number): Statement<void> =>
  markRead(accountId, now)

/** Marks the items of a post as read. */
export const markPostItemsRead = (
  accountId: AccountId,
  now: number,
  postId: string,
): Statement<void> => markRead(accountId, now, sql`${inboxItems.postId} = ${postId}`)
