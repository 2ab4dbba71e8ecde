import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { mailLimits } from '../../shared/config'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, newIdSql, updateSet } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId } from '../../shared/ids'
import { isUsableSql } from '../accounts/invitation-queries'
import { isChosenSql, notificationKindSql } from '../rules/notification-sql'
import { canReadSql } from '../rules/readable-sql'
import { isPostShownSql, isUnreadSql, itemTextSql } from '../rules/shown-sql'
import { accounts, apiKeys, invitations } from '../schema/accounts'
import { communities, follows, subscriptions } from '../schema/communities'
import { inboxItems, type NotificationKind, notificationSettings } from '../schema/inbox'
import { type MailEvent, mailAddresses, mailServer } from '../schema/mail'
import { posts } from '../schema/posts'
import { outbox } from '../schema/webhooks'
import { isAccountShutOutSql, isStoppedAccountSql } from '../viewers/ban-sql'
import type { Reader } from '../viewers/reader'
import { canReadItemSql, eventSql, isActiveSql } from './queue-queries'

const s = alias(mailServer, 's')
const o = alias(outbox, 'o')
const d = alias(mailAddresses, 'd')
const a = alias(accounts, 'a')
const i = alias(inboxItems, 'i')
const f = alias(accounts, 'f')
const v = alias(invitations, 'v')
const by = alias(accounts, 'inviter')
const k = alias(apiKeys, 'k')
const w = alias(notificationSettings, 'w')
const sub = alias(subscriptions, 's')
const fo = alias(follows, 'fo')
const p = alias(posts, 'p')
const q = alias(posts, 'q')
const z = alias(posts, 'z')
const c = alias(communities, 'c')

const firstDueSql = sql`(SELECT ${o.nextAt} FROM ${outbox} ${o} INDEXED BY outbox_mail
  WHERE ${o.kind} = 'mail' AND ${o.state} = 'pending' ORDER BY ${o.nextAt} LIMIT 1)`

/** When the next mail and the next digest are due, as columns. They read three rows, however much waits. */
export const mailTimes = {
  mailAt: sql<number | null>`max(${firstDueSql},
    coalesce((SELECT ${s.retryAt} FROM ${mailServer} ${s} WHERE ${s.id} = 1), 0))`,
  digestAt: sql<
    number | null
  >`(SELECT ${w.digestAt} FROM ${notificationSettings} ${w} INDEXED BY notification_settings_by_digest
    WHERE ${w.digestAt} IS NOT NULL ORDER BY ${w.digestAt} LIMIT 1)`,
}

/** Selects when the next mail is due. */
export const selectNextMail = prepare((_: Params<Record<never, never>>) =>
  oneSql({ at: mailTimes.mailAt }, sql`FROM (SELECT 1)`),
)

/** Claims the mail server for one sender, when mail is due. */
export const claimServer = prepare((given: Params<{ claim: string; now: number }>) =>
  write(
    insertSelect(
      mailServer,
      { id: sql`1`, claim: given.claim, retryAt: sql`${given.now} + ${mailLimits.claimMs}` },
      sql`WHERE ${firstDueSql} <= ${given.now} ON CONFLICT (id) DO UPDATE
        SET claim = excluded.claim, retry_at = excluded.retry_at WHERE ${mailServer.retryAt} <= ${given.now}`,
    ),
  ),
)

const itemFields = {
  kind: sql<NotificationKind | null>`${notificationKindSql(i, f)}`,
  from: sql<string | null>`${f.name}`,
  content: sql<string | null>`${itemTextSql(i)}`,
  postId: i.postId,
  commentId: i.commentId,
  conversationId: i.conversationId,
}

const mailFields = {
  id: o.id,
  event: sql<MailEvent>`${o.event}`,
  createdAt: o.createdAt,
  attempts: o.attempts,
  targetId: o.targetId,
  data: o.data,
  accountId: sql<AccountId | null>`${a.id}`,
  accountName: sql<string | null>`${a.name}`,
  address: sql<string | null>`${d.address}`,
  isConfirmed: flag(sql`${d.confirmedAt} IS NOT NULL`),
  isStopped: flag(sql`${d.stoppedAt} IS NOT NULL`),
  failures: sql<number | null>`${d.failures}`,
  serverFailures: s.failures,
  serverFailingSince: s.failingSince,
  serverAnswer: s.answer,
  /** Whether the account may sign in and read now. */
  isShutOut: flag(sql`(${a.id} IS NULL OR ${isAccountShutOutSql(a, sql`n.now`)})`),
  /** Whether its item is unread, and its account may read it and still wants it by mail. */
  isItemWanted: flag(sql`(${i.id} IS NOT NULL AND ${isUnreadSql(i)} AND ${canReadItemSql(i, a)}
    AND ${isChosenSql(w, notificationKindSql(i, f), 'mail')})`),
  ...itemFields,
  inviter: sql<string | null>`${by.name}`,
  invitedAs: sql<string | null>`${v.role}`,
  expiresAt: sql<number | null>`coalesce(${v.expiresAt}, ${k.expiresAt})`,
}

/** A message that a sender has claimed, with what it says. */
export type MailRow = RowOf<typeof mailFields>

/** Selects the first messages that are due, when the sender has claimed the server. */
export const selectClaimedMail = prepare(
  (given: Params<{ claim: string; now: number; membersInvite: boolean }>) =>
    manySql(
      mailFields,
      sql`FROM (SELECT ${given.now} AS now) n CROSS JOIN ${mailServer} ${s} ON ${s.id} = 1 AND ${s.claim} = ${given.claim}
        CROSS JOIN ${outbox} ${o} ON ${o.id} IN (SELECT q.id FROM ${outbox} q INDEXED BY outbox_mail
          WHERE q.kind = 'mail' AND q.state = 'pending' AND q.next_at <= ${given.now}
          ORDER BY q.next_at, q.seq LIMIT ${mailLimits.claimedMax})
        LEFT JOIN ${mailAddresses} ${d} ON ${d.accountId} = ${o.targetId}
        LEFT JOIN ${accounts} ${a} ON ${a.id} = ${d.accountId}
        LEFT JOIN ${notificationSettings} ${w} ON ${o.event} = 'mail.notification' AND ${w.accountId} = ${d.accountId}
        LEFT JOIN ${inboxItems} ${i} ON ${o.event} = 'mail.notification' AND ${i.id} = ${o.subjectId} AND ${i.accountId} = ${d.accountId}
        LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
        LEFT JOIN ${invitations} ${v} ON ${o.event} = 'mail.invitation' AND ${v.id} = ${o.targetId}
          AND ${isUsableSql(v, { now: given.now, membersInvite: given.membersInvite })}
        LEFT JOIN ${accounts} ${by} ON ${by.id} = ${v.createdBy}
        LEFT JOIN ${apiKeys} ${k} ON ${o.event} = 'mail.sign_in' AND ${k.id} = ${o.id} AND ${k.expiresAt} > ${given.now}
        ORDER BY ${o.nextAt}, ${o.seq}`,
    ),
)

interface Recorded {
  id: string
  state: 'pending' | 'sent' | 'failed' | 'withheld'
  now: number
  nextAt: number
  answer: string
}

/** Stores how an attempt ended, unless another sender has stored that the message is over. Its address goes with it. */
export const recordMail = prepare((given: Params<Recorded>) =>
  write(
    updateSet(
      outbox,
      {
        state: given.state,
        attempts: sql`${outbox.attempts} + 1`,
        triedAt: given.now,
        nextAt: given.nextAt,
        answer: given.answer,
        data: sql`iif(${given.state} = 'pending', ${outbox.data}, NULL)`,
      },
      sql`WHERE ${outbox.id} = ${given.id} AND ${outbox.state} = 'pending'`,
    ),
  ),
)

/** Ends the claim of a sender. */
export const releaseServer = prepare(
  (
    given: Params<{
      claim: string
      retryAt: number
      failures: number
      failingSince: number | null
      answer: string | null
    }>,
  ) =>
    write(
      updateSet(
        mailServer,
        {
          claim: null,
          retryAt: given.retryAt,
          failures: given.failures,
          failingSince: given.failingSince,
          answer: given.answer,
        },
        sql`WHERE ${mailServer.id} = 1 AND ${mailServer.claim} = ${given.claim}`,
      ),
    ),
)

/** What the owner of a stopped address can do, behind why it was stopped. */
export const enterAnother =
  ' Enter an address that works in [your notifications](/settings/notifications#mail).'

/** Stores that an address took a message. */
export const recordTaken = prepare(({ accountId }: Params<{ accountId: AccountId }>) =>
  write(
    updateSet(
      mailAddresses,
      { failures: 0 },
      sql`WHERE ${mailAddresses.accountId} = ${accountId} AND ${mailAddresses.failures} > 0`,
    ),
  ),
)

/**
 * Stops the addresses that a mail service reports, each with a notice to its owner. An address that was entered after
 * the bounce is another one, and one that is stopped stays as it is.
 *
 * @param like an id whose time part the ids of the notices get
 */
export function stopBounced(
  { normalized, at, reason }: { normalized: string; at: number; reason: string },
  { now, like }: { now: number; like: string },
): { notices: Statement<void>; stopped: Statement<boolean> } {
  const isBounced = (address: Record<'normalized' | 'createdAt' | 'stoppedAt', SQLWrapper>) =>
    sql`WHERE ${address.normalized} = ${normalized} AND ${address.createdAt} <= ${at} AND ${address.stoppedAt} IS NULL`
  const content = sql`'Mail to ' || ${d.address} || ' was stopped. ' || ${reason} || ${enterAnother}`
  return {
    notices: write(
      insertSelect(
        inboxItems,
        {
          id: newIdSql(sql`${like}`),
          accountId: d.accountId,
          type: 'system',
          content,
          createdAt: now,
        },
        sql`FROM ${mailAddresses} ${d} ${isBounced(d)}`,
      ),
    ),
    stopped: writeChanges(
      updateSet(mailAddresses, { stoppedAt: now, reason }, isBounced(mailAddresses)),
    ),
  }
}

/** Counts a message that was refused for good, and stops the address at the limit with a notice to its owner. */
export function recordRefusal(given: {
  accountId: AccountId
  /** That refused: the account may have another one by now. */
  address: string
  itemId: InboxItemId
  isUnknown: boolean
  reason: string
  notice: string
  now: number
}): Statement<void>[] {
  const { accountId, address, itemId, isUnknown, reason, notice, now } = given
  const isOverSql = (failures: SQL) =>
    isUnknown ? sql`1` : sql`${failures} + 1 >= ${mailLimits.refusalsMax}`
  return [
    write(
      insertSelect(
        inboxItems,
        { id: itemId, accountId: d.accountId, type: 'system', content: notice, createdAt: now },
        sql`FROM ${mailAddresses} ${d} WHERE ${d.accountId} = ${accountId} AND ${d.address} = ${address}
          AND ${d.stoppedAt} IS NULL AND ${isOverSql(sql`${d.failures}`)}`,
      ),
    ),
    write(
      updateSet(
        mailAddresses,
        {
          failures: sql`${mailAddresses.failures} + 1`,
          stoppedAt: sql`iif(${isOverSql(sql`${mailAddresses.failures}`)}, ${now}, NULL)`,
          reason: sql`iif(${isOverSql(sql`${mailAddresses.failures}`)}, ${reason}, NULL)`,
        },
        sql`WHERE ${mailAddresses.accountId} = ${accountId} AND ${mailAddresses.address} = ${address}
          AND ${mailAddresses.stoppedAt} IS NULL`,
      ),
    ),
  ]
}

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
    SELECT ${q.id} FROM ${subscriptions} ${sub} CROSS JOIN ${posts} ${q}
      ON ${q.id} IN (${newestSql(sql`${z.communityId} = ${sub.communityId}`, given)}) WHERE ${sub.accountId} = ${d.accountId}
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

const digestItemFields = {
  kind: sql<NotificationKind>`${notificationKindSql(i, f)}`,
  from: sql<string | null>`${f.name}`,
  content: sql<string | null>`${itemTextSql(i)}`,
  postId: i.postId,
  commentId: i.commentId,
  conversationId: i.conversationId,
}

/** A notification in a digest. */
export type DigestItem = RowOf<typeof digestItemFields>

/** Selects the notifications of a digest as they are now, the oldest first. */
export const selectDigestItems = prepare((v: Params<Digest>) =>
  manySql(
    digestItemFields,
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
