import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { mailLimits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { isChosenSql, notificationKindSql } from '../rules/notification-sql'
import { canReadSql } from '../rules/readable-sql'
import { isPostShownSql, isUnreadSql, itemTextSql } from '../rules/shown-sql'
import { accounts } from '../schema/accounts'
import { communities, follows, subscriptions } from '../schema/communities'
import { inboxItems, type NotificationKind, notificationSettings } from '../schema/inbox'
import { mailAddresses } from '../schema/mail'
import { posts } from '../schema/posts'
import { outbox } from '../schema/webhooks'
import { isStoppedAccountSql } from '../viewers/ban-sql'
import type { Reader } from '../viewers/reader'
import { canReadItemSql, eventSql, isActiveSql } from './queue-queries'

const d = alias(mailAddresses, 'd')
const w = alias(notificationSettings, 'w')
const i = alias(inboxItems, 'i')
const f = alias(accounts, 'f')
const a = alias(accounts, 'a')
const s = alias(subscriptions, 's')
const fo = alias(follows, 'fo')
const p = alias(posts, 'p')
const q = alias(posts, 'q')
const z = alias(posts, 'z')
const c = alias(communities, 'c')
const o = alias(outbox, 'o')

/** A digest begins where the last one ended, and not before its address was entered. */
const sinceSql = sql`max(${w.digestedAt}, ${d.createdAt})`

/** The account of a digest, who reads it, and up to when it reaches. */
interface Digest {
  accountId: AccountId
  reader: Reader
  until: number
}

type Given = { [Name in keyof Digest]: SQLWrapper }

/** FROM the address and the settings of the account of a digest. */
const fromReader = ({ accountId }: Given): SQL =>
  sql`FROM ${mailAddresses} ${d} CROSS JOIN ${notificationSettings} ${w} ON ${w.accountId} = ${d.accountId}
    CROSS JOIN ${accounts} ${a} ON ${a.id} = ${d.accountId} AND ${d.accountId} = ${accountId}`

/** Joins the inbox items that a digest has: unread, chosen for it, and its account may read them. */
const joinItems = ({
  until,
}: Given): SQL => sql`CROSS JOIN ${inboxItems} ${i} ON ${i.accountId} = ${d.accountId}
    AND ${i.createdAt} > ${sinceSql} AND ${i.createdAt} <= ${until} AND ${i.readAt} IS NULL
  LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
  WHERE ${isUnreadSql(i)} AND ${canReadItemSql(i, a)} AND ${isChosenSql(w, notificationKindSql(i, f), 'digest')}`

/** The newest posts of one source of a digest. */
const newestSql = (ofSource: SQL, { until }: Given): SQL => sql`SELECT ${z.id} FROM ${posts} ${z}
  WHERE ${ofSource} AND ${isPostShownSql(z)} AND ${z.createdAt} > ${sinceSql} AND ${z.createdAt} <= ${until}
  ORDER BY ${z.createdAt} DESC, ${z.id} DESC LIMIT ${sql.raw(String(mailLimits.digestPostsCounted))}`

/**
 * Joins the posts that a digest has: of the communities that its account subscribes to and the accounts that it
 * follows, by others than itself, where it reads now, and by nobody who is banned or muted there.
 */
const joinPosts = (given: Given, more = sql``): SQL => sql`CROSS JOIN ${posts} ${p} ON ${p.id} IN (
    SELECT ${q.id} FROM ${subscriptions} ${s} CROSS JOIN ${posts} ${q}
      ON ${q.id} IN (${newestSql(sql`${z.communityId} = ${s.communityId}`, given)}) WHERE ${s.accountId} = ${d.accountId}
    UNION SELECT ${q.id} FROM ${follows} ${fo} CROSS JOIN ${posts} ${q}
      ON ${q.id} IN (${newestSql(sql`${z.authorId} = ${fo.followedId}`, given)}) WHERE ${fo.accountId} = ${d.accountId})
  CROSS JOIN ${accounts} ${f} ON ${f.id} = ${p.authorId} ${more}
  WHERE ${isChosenSql(w, sql`'post'`, 'digest')} AND ${isPostShownSql(p)} AND ${p.authorId} <> ${d.accountId}
    AND ${canReadSql(p.communityId, given.reader)} AND NOT ${isStoppedAccountSql(f, given.until, p.communityId)}`

/**
 * Queues the digest of an account when it has something to say, unless the one before still waits.
 *
 * @param at when it was due, which names it
 */
export const queueDigest = prepare((v: Params<Digest & { id: string; at: number; now: number }>) =>
  writeChanges(
    insertSelect(
      outbox,
      {
        id: v.id,
        kind: 'mail',
        targetId: d.accountId,
        event: eventSql('mail.digest'),
        key: sql`'digest:' || ${v.at}`,
        createdAt: v.now,
        nextAt: v.now,
      },
      sql`${fromReader(v)} WHERE ${isActiveSql(d)}
        AND (EXISTS (SELECT 1 FROM (SELECT 1) ${joinItems(v)}) OR EXISTS (SELECT 1 FROM (SELECT 1) ${joinPosts(v)}))
        AND NOT EXISTS (SELECT 1 FROM ${outbox} ${o} WHERE ${o.kind} = 'mail' AND ${o.targetId} = ${d.accountId}
          AND ${o.event} = ${eventSql('mail.digest')} AND ${o.state} = 'pending')
        ON CONFLICT DO NOTHING`,
    ),
  ),
)

const itemFields = {
  kind: sql<NotificationKind>`${notificationKindSql(i, f)}`,
  from: sql<string | null>`${f.name}`,
  content: sql<string | null>`${itemTextSql(i)}`,
  postId: i.postId,
  commentId: i.commentId,
  conversationId: i.conversationId,
}

/** A notification in a digest. */
export type DigestItem = RowOf<typeof itemFields>

/** Selects the notifications of a digest as they are now, the oldest first. */
export const selectDigestItems = prepare((v: Params<Digest>) =>
  manySql(
    itemFields,
    sql`${fromReader(v)} ${joinItems(v)} ORDER BY ${i.createdAt}, ${i.id} LIMIT ${mailLimits.digestItemsMax}`,
  ),
)

const postFields = {
  postId: p.id,
  title: p.title,
  author: f.name,
  community: c.name,
  /** How many the digest has, of each source no more than are counted. */
  total: sql<number>`count(*) OVER ()`,
}

/** A post in a digest. */
export type DigestPost = RowOf<typeof postFields>

/** Selects the posts of a digest as they are now, the newest first. */
export const selectDigestPosts = prepare((v: Params<Digest>) =>
  manySql(
    postFields,
    sql`${fromReader(v)} ${joinPosts(v, sql`CROSS JOIN ${communities} ${c} ON ${c.id} = ${p.communityId}`)}
      ORDER BY ${p.createdAt} DESC, ${p.id} DESC LIMIT ${mailLimits.digestPostsMax}`,
  ),
)

/** Stores up to when the digest of an account has reached. */
export const recordDigest = (accountId: AccountId, until: number): Statement<void> =>
  write(
    updateSet(
      notificationSettings,
      { digestedAt: until },
      sql`WHERE ${notificationSettings.accountId} = ${accountId} AND ${notificationSettings.digestedAt} < ${until}`,
    ),
  )

/** Selects the accounts whose digest is due. */
export const selectDueDigests = prepare(({ now }: Params<{ now: number }>) =>
  manySql(
    {
      accountId: w.accountId,
      digestAt: sql<number>`${w.digestAt}`,
      digestHour: w.digestHour,
      timezone: w.timezone,
    },
    sql`FROM ${notificationSettings} ${w} INDEXED BY notification_settings_by_digest
      WHERE ${w.digestAt} IS NOT NULL AND ${w.digestAt} <= ${now} ORDER BY ${w.digestAt} LIMIT ${mailLimits.digestsPerSweep}`,
  ),
)

/** Moves the digest of an account to its next time, unless it was moved meanwhile. */
export const moveDigest = (accountId: AccountId, from: number, to: number): Statement<void> =>
  write(
    updateSet(
      notificationSettings,
      { digestAt: to },
      sql`WHERE ${notificationSettings.accountId} = ${accountId} AND ${notificationSettings.digestAt} = ${from}`,
    ),
  )
