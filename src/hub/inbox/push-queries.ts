import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { pushLimits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId } from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { isChosenSql, notificationKindSql } from '../rules/notification-sql'
import { canAccountReadSql } from '../rules/readable-sql'
import { isUnreadSql, itemTextSql } from '../rules/shown-sql'
import { accounts, apiKeys } from '../schema/accounts'
import {
  inboxItems,
  notificationSettings,
  type PushDevice,
  pushDevices,
  pushQueue,
} from '../schema/inbox'
import { posts } from '../schema/posts'
import { isAccountShutOutSql } from '../viewers/ban-sql'
import { prepareForViewer, viewer, viewerCte } from '../viewers/queries'

const d = alias(pushDevices, 'd')
const w = alias(notificationSettings, 'w')
const k = alias(apiKeys, 'k')

type NewDevice = Omit<PushDevice, 'lastSentAt' | 'failure'>

/**
 * Inserts a device of a session; a browser that was added before moves to this session and account.
 * Answers false when the account has as many devices as it can have, or the key is not a session.
 */
export const insertDevice = (device: NewDevice): Statement<boolean> => {
  const { id, accountId, sessionId, endpoint, p256dh, auth, serverKey, label, createdAt } = device
  const taken = ['accountId', 'sessionId', 'p256dh', 'auth', 'serverKey', 'label'] as const
  const updates = taken.map(
    (name) => sql`${bare(pushDevices[name])} = excluded.${bare(pushDevices[name])}`,
  )
  return writeChanges(
    insertSelect(
      pushDevices,
      { id, accountId, sessionId, endpoint, p256dh, auth, serverKey, label, createdAt },
      sql`FROM ${apiKeys} ${k} WHERE ${k.id} = ${sessionId} AND ${k.kind} = 'session'
        AND (SELECT count(*) FROM ${pushDevices} ${d} WHERE ${d.accountId} = ${accountId}
          AND ${d.endpoint} <> ${endpoint}) < ${pushLimits.devicesPerAccountMax}
        ON CONFLICT (endpoint) DO UPDATE SET ${sql.join(updates, sql`, `)}, failure = NULL`,
    ),
  )
}

/** A device, as its account sees it. */
export type OwnDevice = Pick<
  PushDevice,
  'id' | 'label' | 'createdAt' | 'lastSentAt' | 'failure' | 'serverKey'
>

/** Selects the devices of the viewer's account, the last added first. */
export const selectOwnDevices = prepareForViewer((v) =>
  manySql(
    {
      id: d.id,
      label: d.label,
      createdAt: d.createdAt,
      lastSentAt: d.lastSentAt,
      failure: d.failure,
      serverKey: d.serverKey,
    },
    sql`FROM ${viewer} JOIN ${pushDevices} ${d} ON ${d.accountId} = ${viewer.id}
      ORDER BY ${d.createdAt} DESC, ${d.id} DESC`,
    viewerCte(v),
  ),
)

/** Selects a device of an account. */
export const selectDevice = (accountId: AccountId, id: string): Statement<PushDevice | undefined> =>
  one(
    orm
      .select()
      .from(pushDevices)
      .where(and(eq(pushDevices.id, id), eq(pushDevices.accountId, accountId))),
  )

/** Deletes a device of an account; answers whether the account had it. */
export const deleteOwnDevice = (accountId: AccountId, id: string): Statement<boolean> =>
  writeChanges(
    orm
      .delete(pushDevices)
      .where(and(eq(pushDevices.id, id), eq(pushDevices.accountId, accountId))),
  )

/** Deletes a device and the messages that wait for it. */
export const deleteDevice = prepare(({ id }: Params<{ id: string }>) =>
  write(orm.delete(pushDevices).where(eq(pushDevices.id, id))),
)

const i = alias(inboxItems, 'i')
const q = alias(pushQueue, 'q')
const a = alias(accounts, 'a')
const f = alias(accounts, 'f')
const p = alias(posts, 'p')

const kindSql = notificationKindSql(i, f)

/** Queues the items `i` for the devices of their accounts; a hub without devices reads no row for it. */
const queueSql = (now: SQLWrapper, fromItems: SQL): SQL =>
  insertSelect(
    pushQueue,
    { deviceId: d.id, itemId: i.id, dueAt: now },
    sql`${fromItems}
      CROSS JOIN ${pushDevices} ${d} ON ${d.accountId} = ${i.accountId}
      LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      LEFT JOIN ${notificationSettings} ${w} ON ${w.accountId} = ${d.accountId}
      WHERE EXISTS (SELECT 1 FROM ${pushDevices}) AND ${kindSql} IS NOT NULL AND ${i.readAt} IS NULL
        AND (${w.accountId} IS NULL OR ${isChosenSql(w, kindSql, 'push')})
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
      LEFT JOIN ${notificationSettings} ${w} ON ${w.accountId} = ${d.accountId}
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
