import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { pushLimits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId } from '../../shared/ids'
import { isAccountShutOutSql } from '../bans/ban-sql'
import { canAccountReadSql, unfiltered } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { inboxItems } from '../schema/inbox'
import { apiKeys } from '../schema/keys'
import { posts } from '../schema/posts'
import { type PushKind, pushDevices, pushQueue, pushSettings } from '../schema/push'
import { isUnreadSql, itemTextSql } from '../shown-sql'

const i = alias(inboxItems, 'i')
const d = alias(pushDevices, 'd')
const w = alias(pushSettings, 'w')
const q = alias(pushQueue, 'q')
const a = alias(accounts, 'a')
const f = alias(accounts, 'f')
const k = alias(apiKeys, 'k')
const p = alias(posts, 'p')

/** What an inbox item `i` reaches its account for; NULL: it is shown in the inbox only. */
const kindSql = sql<PushKind>`CASE
  WHEN ${i.type} = 'dm' THEN 'dm'
  WHEN ${i.type} = 'approval_request' THEN 'approval'
  WHEN ${i.type} IN ('reply', 'comment') AND ${f.kind} = 'agent' THEN 'run'
  WHEN ${i.type} IN ('mention', 'reply', 'comment') THEN 'mention' END`

/** Queues the items `i` for the devices of their accounts; a hub without devices reads no row for it. */
const queueSql = (now: SQLWrapper, fromItems: SQL): SQL =>
  insertSelect(
    pushQueue,
    { deviceId: d.id, itemId: i.id, dueAt: now },
    sql`${fromItems}
      CROSS JOIN ${pushDevices} ${d} ON ${d.accountId} = ${i.accountId}
      LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      LEFT JOIN ${pushSettings} ${w} ON ${w.accountId} = ${d.accountId}
      WHERE EXISTS (SELECT 1 FROM ${pushDevices}) AND ${kindSql} IS NOT NULL AND ${i.readAt} IS NULL
        AND (${w.accountId} IS NULL OR EXISTS (SELECT 1 FROM json_each(${w.kinds}) WHERE value = ${kindSql}))
      ON CONFLICT DO NOTHING`,
  )

const preparedQueue = prepare((v: Params<{ ids: string; now: number }>) =>
  writeChanges(
    queueSql(
      v.now,
      sql`FROM json_each(${v.ids}) n CROSS JOIN ${inboxItems} ${i} ON ${i.id} = n.value`,
    ),
  ),
)

/**
 * Queues messages for inbox items that this batch inserted; answers whether there are any. Put it after the
 * items, in their batch: a message is queued exactly when its item is there.
 */
export const queuePushes = (ids: readonly InboxItemId[], now: number): Statement<boolean> =>
  preparedQueue({ ids: JSON.stringify(ids), now })

interface AgentItems {
  agentId: AccountId
  /** An id whose time part `newIdSql` copied into those of the items. */
  like: string
  now: number
}

/** The same for items that a statement created for an agent, whose ids only the database knows. */
export const queuePushesOfAgent = prepare((v: Params<AgentItems>) =>
  writeChanges(
    queueSql(
      v.now,
      // 'g' comes after all hexadecimal digits.
      sql`FROM (SELECT substr(${v.like}, 1, 15) AS head) CROSS JOIN ${inboxItems} ${i}
        ON ${i.id} >= head AND ${i.id} < head || 'g' AND ${i.fromAccountId} = ${v.agentId}`,
    ),
  ),
)

/** Claims what is due, for one sender. */
export const claimDue = prepare((v: Params<{ claim: string; now: number }>) =>
  write(
    updateSet(
      pushQueue,
      {
        claim: v.claim,
        attempts: sql`${pushQueue.attempts} + 1`,
        dueAt: sql`${v.now} + ${pushLimits.claimMs}`,
      },
      sql`WHERE (${pushQueue.deviceId}, ${pushQueue.itemId}) IN (
        SELECT ${q.deviceId}, ${q.itemId} FROM ${pushQueue} ${q} WHERE ${q.dueAt} <= ${v.now}
        ORDER BY ${q.dueAt} LIMIT ${pushLimits.sentAtOnceMax})`,
    ),
  ),
)

const canReadThreadSql: SQL = canAccountReadSql(
  sql`(SELECT ${p.communityId} FROM ${posts} ${p} ${unfiltered('guarded write')} WHERE ${p.id} = ${i.postId})`,
  a,
)

const dueFields = {
  deviceId: q.deviceId,
  itemId: q.itemId,
  attempts: q.attempts,
  kind: kindSql,
  from: f.name,
  content: itemTextSql(i),
  postId: i.postId,
  commentId: i.commentId,
  conversationId: i.conversationId,
  endpoint: d.endpoint,
  p256dh: d.p256dh,
  auth: d.auth,
  serverKey: d.serverKey,
  quietFrom: w.quietFrom,
  quietTo: w.quietTo,
  timezone: w.timezone,
}

/**
 * Selects what a sender has claimed. What was read meanwhile, or may not be read any more, is left out: its
 * account is shut out, its session has expired, the community was closed to it, the words were deleted or
 * removed, or the browser was added by another account since.
 */
export const selectClaimed = prepare(
  (v: Params<{ claim: string; now: number; adminKeyHash: string }>) =>
    manySql(
      dueFields,
      sql`FROM ${pushQueue} ${q} JOIN ${inboxItems} ${i} ON ${i.id} = ${q.itemId}
      JOIN ${pushDevices} ${d} ON ${d.id} = ${q.deviceId} JOIN ${accounts} ${a} ON ${a.id} = ${d.accountId}
      JOIN ${apiKeys} ${k} ON ${k.id} = ${d.sessionId}
      LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      LEFT JOIN ${pushSettings} ${w} ON ${w.accountId} = ${d.accountId}
      WHERE ${q.claim} = ${v.claim} AND ${isUnreadSql(i)} AND ${kindSql} IS NOT NULL
        AND (${k.expiresAt} IS NULL OR ${k.expiresAt} > ${v.now})
        AND (${k.adminKeyHash} IS NULL OR ${k.adminKeyHash} = ${v.adminKeyHash}) AND NOT ${isAccountShutOutSql(a, v.now)}
        AND ${i.accountId} = ${d.accountId} AND (${i.postId} IS NULL OR ${canReadThreadSql})
      ORDER BY ${q.deviceId}, ${q.itemId}`,
    ),
)

/** A message that is due, with the device that it is for. */
export type DueAtDevice = RowOf<typeof dueFields>

/** A message that is due at a device. */
export type DueMessage = Pick<
  DueAtDevice,
  'itemId' | 'kind' | 'from' | 'content' | 'postId' | 'commentId' | 'conversationId'
>

/** Moves messages that a sender claimed to a later time. */
export const postpone = prepare(
  (v: Params<{ claim: string; deviceId: string; dueAt: number; isAttempt: boolean }>) =>
    write(
      updateSet(
        pushQueue,
        {
          dueAt: v.dueAt,
          claim: null,
          attempts: sql`${pushQueue.attempts} - iif(${v.isAttempt}, 0, 1)`,
        },
        sql`WHERE ${pushQueue.claim} = ${v.claim} AND ${pushQueue.deviceId} = ${v.deviceId}`,
      ),
    ),
)

/** Deletes everything that a sender has claimed and not postponed: it was sent, or must not be. */
export const deleteClaimed = prepare(({ claim }: Params<{ claim: string }>) =>
  write(orm.delete(pushQueue).where(sql`${pushQueue.claim} = ${claim}`)),
)

/** Selects when the next message is due. */
export const selectNextDue = prepare((_: Params<Record<never, never>>) =>
  oneSql({ at: sql<number | null>`min(${q.dueAt})` }, sql`FROM ${pushQueue} ${q}`),
)

/** Stores how sending to a device ended. */
export const recordSent = prepare(
  (v: Params<{ deviceId: string; now: number; failure: string | null }>) =>
    write(
      updateSet(
        pushDevices,
        {
          lastSentAt: sql`iif(${v.failure} IS NULL, ${v.now}, ${pushDevices.lastSentAt})`,
          failure: v.failure,
        },
        sql`WHERE ${pushDevices.id} = ${v.deviceId}`,
      ),
    ),
)
