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
import { isUnreadSql, itemTextSql } from '../rules/shown-sql'
import { accounts, apiKeys, invitations } from '../schema/accounts'
import { inboxItems, type NotificationKind, notificationSettings } from '../schema/inbox'
import { type MailEvent, mailAddresses, mailServer } from '../schema/mail'
import { outbox } from '../schema/webhooks'
import { isAccountShutOutSql } from '../viewers/ban-sql'
import { canReadItemSql } from './queue-queries'

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
