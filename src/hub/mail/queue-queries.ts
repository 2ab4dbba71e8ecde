import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import {
  type Params,
  prepare,
  type Statement,
  writeChanges,
  writeReturned,
} from '../../shared/db/statement'
import { idAt, insertSelect, newIdSql } from '../../shared/db/write-sql'
import type { InboxItemId } from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { isChosenSql, notificationKindSql } from '../rules/notification-sql'
import { canAccountReadSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { inboxItems, notificationSettings } from '../schema/inbox'
import { type MailEvent, mailAddresses } from '../schema/mail'
import { posts } from '../schema/posts'
import { outbox } from '../schema/webhooks'

/*
 * Mail is queued in the batch that writes what it is about. These statements answer whether they queued anything. A hub
 * without mail addresses reads no row for them, and a statement that is repeated queues nothing again.
 */

const d = alias(mailAddresses, 'd')
const i = alias(inboxItems, 'i')
const f = alias(accounts, 'f')
const o = alias(outbox, 'o')
const w = alias(notificationSettings, 'w')
const p = alias(posts, 'p')

/** Whether an address may be sent more than its confirmation. */
export const isActiveSql = (address: Record<'confirmedAt' | 'stoppedAt', SQLWrapper>): SQL =>
  sql`(${address.confirmedAt} IS NOT NULL AND ${address.stoppedAt} IS NULL)`

/** The event in the column, whose type names those of webhooks. */
export const eventSql = (event: MailEvent): SQL => sql.raw(`'${event}'`)

/** Whether an account may read the thread that an inbox item is about. */
export const canReadItemSql = (
  { postId }: Readonly<Record<'postId', SQLWrapper>>,
  account: Readonly<Record<'id' | 'role', SQLWrapper>>,
): SQL =>
  sql`(${postId} IS NULL OR ${canAccountReadSql(
    sql`(SELECT ${p.communityId} FROM ${posts} ${p} ${unfiltered('guarded write')} WHERE ${p.id} = ${postId})`,
    account,
  )})`

/** One row, or none in a hub without mail addresses. What stands behind it in FROM is not read then. */
const anyAddress = sql`(SELECT 1 FROM ${mailAddresses} LIMIT 1)`

/** Part of FROM: inbox items by a JSON list of their ids. */
export const itemsOfList = (ids: SQLWrapper): SQL =>
  sql`json_each(${ids}) item_ids CROSS JOIN ${inboxItems} ${i} ON ${i.id} = item_ids.value`

/**
 * Part of FROM: inbox items that a statement created for an agent, whose ids only the database knows.
 *
 * @param like an id whose time part `newIdSql` copied into theirs; NULL: there are none
 */
export const itemsOfAgent = (agentId: SQLWrapper, like: SQLWrapper): SQL =>
  // 'g' comes after all hexadecimal digits.
  sql`(SELECT substr(${like}, 1, 15) AS head) heads CROSS JOIN ${inboxItems} ${i}
    ON ${i.id} >= heads.head AND ${i.id} < heads.head || 'g' AND ${i.fromAccountId} = ${agentId}`

/**
 * SELECT of the mail that notifies accounts of inbox items, with the columns of the outbox in the order in which those
 * of webhooks are inserted: one statement queues both.
 */
export const selectItemMailSql = (
  { now, like }: { now: SQLWrapper; like: SQLWrapper },
  items: SQL,
): SQL => sql`SELECT ${newIdSql(like)}, 'mail', ${d.accountId}, ${eventSql('mail.notification')}, 'item:' || ${i.id},
    NULL, NULL, NULL, ${i.id}, NULL, ${now}, ${now}
  FROM ${anyAddress} CROSS JOIN ${items} CROSS JOIN ${mailAddresses} ${d} ON ${d.accountId} = ${i.accountId}
  CROSS JOIN ${notificationSettings} ${w} ON ${w.accountId} = ${d.accountId}
  LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
  WHERE ${isActiveSql(d)} AND ${i.readAt} IS NULL
    AND ${isChosenSql(w, notificationKindSql(i, f), 'mail')}`

const preparedItems = prepare((v: Params<{ ids: string; now: number; like: string }>) =>
  writeReturned(
    sql`INSERT INTO ${outbox} (id, kind, target_id, event, key, community_id, post_id, comment_id, subject_id, data, created_at, next_at)
      ${selectItemMailSql(v, itemsOfList(v.ids))} ON CONFLICT DO NOTHING RETURNING 1`,
  ),
)

/** Queues mail for inbox items that this batch inserted, after them, where nothing is queued for webhooks. */
export const queueNotifications = (ids: readonly InboxItemId[], now: number): Statement<boolean> =>
  preparedItems({ ids: JSON.stringify(ids), now, like: idAt(now) })

interface Invited {
  /** Of the outbox. */
  id: string
  invitationId: string
  address: string
  now: number
}

/** Queues the mail of an invitation. Its address is kept until the mail was sent or given up. */
export const queueInvitation = ({ id, invitationId, address, now }: Invited): Statement<boolean> =>
  writeChanges(
    insertSelect(
      outbox,
      {
        id,
        kind: 'mail',
        targetId: invitationId,
        event: eventSql('mail.invitation'),
        key: 'mail.invitation',
        data: JSON.stringify({ address }),
        createdAt: now,
        nextAt: now,
      },
      sql`WHERE 1`,
    ),
  )

/** How many messages of an event were queued for an account since a time. */
export const countMailSql = (event: MailEvent, accountId: SQLWrapper, since: number): SQL =>
  sql`(SELECT count(*) FROM ${outbox} ${o} WHERE ${o.kind} = 'mail' AND ${o.targetId} = ${accountId}
    AND ${o.event} = ${eventSql(event)} AND ${o.createdAt} > ${since})`
