import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { webhookLimits } from '../../shared/config'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, CommunityId } from '../../shared/ids'
import { insertAdminEntryIf } from '../database/admin-log-queries'
import { mayModerateSql } from '../rules/moderator-sql'
import { personSql } from '../rules/people-sql'
import { optionalPlaceSql } from '../rules/places'
import { canReadSql } from '../rules/readable-sql'
import { mayHaveWebhookSql } from '../rules/webhooks-sql'
import { accounts } from '../schema/accounts'
import { communities } from '../schema/communities'
import { outbox, webhooks } from '../schema/webhooks'
import { accountOfReaderSql, viewer } from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const w = alias(webhooks, 'w')
const o = alias(outbox, 'o')
const a = alias(accounts, 'a')
const m = alias(communities, 'm')

const webhookFields = {
  id: w.id,
  ownerId: w.accountId,
  owner: personSql(a),
  community: optionalPlaceSql(m),
  url: w.url,
  format: w.format,
  events: w.events,
  createdAt: w.createdAt,
  disabledAt: w.disabledAt,
  reason: w.reason,
  failingSince: w.failingSince,
}

/** A webhook without its secret. Times are milliseconds since the Unix epoch. */
export type WebhookRow = RowOf<typeof webhookFields>

const fromWebhooks = sql`FROM ${webhooks} ${w} JOIN ${accounts} ${a} ON ${a.id} = ${w.accountId}
  LEFT JOIN ${communities} ${m} ON ${m.id} = ${w.communityId}`

/** Whether an account sees a webhook and may delete it: its owner, who moderates its community, and of the hub an admin. */
const canManageSql = (account: SQLWrapper) => sql`(${w.accountId} = ${account}
  OR (${w.communityId} IS NOT NULL AND ${mayModerateSql(account, w.communityId)})
  OR (${w.communityId} IS NULL AND EXISTS (SELECT 1 FROM ${accounts} ${viewer}
    WHERE ${viewer.id} = ${account} AND ${viewer.role} = 'admin')))`

/** Selects the webhooks of the viewer, the newest first. */
export const selectOwnWebhooks = (reader: Reader): Statement<WebhookRow[]> =>
  manySql(
    webhookFields,
    sql`${fromWebhooks} WHERE ${w.accountId} = ${accountOfReaderSql(sql`${reader}`)}
      ORDER BY ${w.createdAt} DESC, ${w.id} DESC LIMIT ${webhookLimits.perAccountMax}`,
  )

/** Selects the webhooks of a community that the viewer may manage, the newest first. */
export const selectCommunityWebhooks = (
  reader: Reader,
  community: string,
): Statement<WebhookRow[]> =>
  manySql(
    webhookFields,
    sql`${fromWebhooks} WHERE ${w.communityId} = (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${community})
      AND ${canManageSql(accountOfReaderSql(sql`${reader}`))}
      ORDER BY ${w.createdAt} DESC, ${w.id} DESC LIMIT ${webhookLimits.perCommunityMax}`,
  )

/** Selects a webhook that the viewer may manage. */
export const selectWebhook = (reader: Reader, id: string): Statement<WebhookRow | undefined> =>
  oneSql(
    webhookFields,
    sql`${fromWebhooks} WHERE ${w.id} = ${id} AND ${canManageSql(accountOfReaderSql(sql`${reader}`))}`,
  )

const nextAtSql = sql<
  number | null
>`iif(${o.state} = 'pending', max(${o.nextAt}, ${w.retryAt}), NULL)`

const deliveryFields = {
  id: o.id,
  event: o.event,
  createdAt: o.createdAt,
  state: o.state,
  attempts: o.attempts,
  triedAt: o.triedAt,
  nextAt: nextAtSql,
  answer: o.answer,
}

/** A delivery, as those who manage its webhook see it. */
export type DeliveryRow = RowOf<typeof deliveryFields>

/** Selects the last deliveries to a webhook that the viewer may manage, the newest first. */
export const selectDeliveries = (reader: Reader, id: string): Statement<DeliveryRow[]> =>
  manySql(
    deliveryFields,
    sql`FROM ${webhooks} ${w} CROSS JOIN ${outbox} ${o} INDEXED BY outbox_of ON ${o.kind} = 'webhook' AND ${o.targetId} = ${w.id}
      WHERE ${w.id} = ${id} AND ${canManageSql(accountOfReaderSql(sql`${reader}`))}
      ORDER BY ${o.seq} DESC LIMIT ${webhookLimits.listedMax}`,
  )

/** Selects a community by its name, and whether an account may have a webhook there. */
export const selectWebhookPlace = (accountId: AccountId, name: string, reader: Reader) =>
  oneSql(
    {
      id: m.id,
      name: m.name,
      displayName: m.displayName,
      isAllowed: flag(
        sql`EXISTS (SELECT 1 FROM ${accounts} ${a} WHERE ${a.id} = ${accountId} AND ${mayHaveWebhookSql(a, m.id)})`,
      ),
    },
    sql`FROM ${communities} ${m} WHERE ${m.name} = ${name} AND ${canReadSql(m.id, sql`${reader}`)}`,
  )

type NewWebhook = Pick<
  typeof webhooks.$inferInsert,
  'id' | 'accountId' | 'url' | 'host' | 'sealed' | 'format' | 'events' | 'createdAt'
> & { communityId: CommunityId | null }

/** What fails when there must be no further webhook. */
export const webhookConstraints = {
  notAllowed: 'webhooks.url',
  ofAccount: 'webhooks.created_at',
  ofCommunity: 'webhooks.host',
  ofMember: 'webhooks.format',
} as const

const countSql = (condition: SQL): SQL =>
  sql`(SELECT count(*) FROM ${webhooks} ${w} WHERE ${condition})`

/**
 * Inserts a webhook. Its URL is null when its owner may not have it there; its time, its host or its format when the
 * owner, the community, or the owner in the community has as many as may be. These fail `webhookConstraints`, and with
 * them the whole batch.
 */
export const insertWebhook = (webhook: NewWebhook): Statement<void> => {
  const { url, host, format, createdAt, communityId, ...row } = webhook
  const ofOwner = sql`${w.accountId} = ${row.accountId}`
  const ofCommunity = sql`${w.communityId} = ${communityId}`
  return write(
    insertSelect(
      webhooks,
      {
        ...row,
        events: sql`${JSON.stringify(row.events)}`,
        communityId,
        url: sql`iif(${mayHaveWebhookSql(a, sql`${communityId}`)}, ${url}, NULL)`,
        createdAt: sql`iif(${countSql(ofOwner)} < ${webhookLimits.perAccountMax}, ${createdAt}, NULL)`,
        host: sql`iif(${countSql(ofCommunity)} < ${webhookLimits.perCommunityMax}, ${host}, NULL)`,
        format: sql`iif(${countSql(sql`${ofOwner} AND ${ofCommunity}`)} < ${webhookLimits.perMemberMax}, ${format}, NULL)`,
      },
      sql`FROM ${accounts} ${a} WHERE ${a.id} = ${row.accountId}`,
    ),
  )
}

/** Selects what the sender needs of a webhook of an account. */
export const selectSealed = (id: string, accountId: AccountId) =>
  oneSql(
    {
      sealed: w.sealed,
      format: w.format,
      disabledAt: w.disabledAt,
      communityId: w.communityId,
      isAllowed: flag(mayHaveWebhookSql(a, w.communityId)),
    },
    sql`FROM ${webhooks} ${w} JOIN ${accounts} ${a} ON ${a.id} = ${w.accountId}
      WHERE ${w.id} = ${id} AND ${w.accountId} = ${accountId}`,
  )

type Changes = Partial<
  Pick<
    typeof webhooks.$inferInsert,
    | 'url'
    | 'host'
    | 'sealed'
    | 'events'
    | 'disabledAt'
    | 'reason'
    | 'failures'
    | 'failingSince'
    | 'retryAt'
  >
>

/** Changes a webhook whose secrets are still these; answers whether they are. */
export const updateWebhook = (
  id: string,
  before: { sealed: string },
  changes: Changes,
): Statement<boolean> =>
  writeChanges(
    orm
      .update(webhooks)
      .set(changes)
      .where(and(eq(webhooks.id, id), eq(webhooks.sealed, before.sealed))),
  )

/**
 * Deletes a webhook that an account may manage, after its deliveries. `isDeleted` answers whether there was one.
 *
 * @param entry of the admin log, for a webhook of another account
 */
export const deleteWebhook = (
  id: string,
  accountId: AccountId,
  entry: Parameters<typeof insertAdminEntryIf>[0],
) => {
  const from = sql`FROM ${webhooks} ${w} WHERE ${w.id} = ${id} AND ${canManageSql(sql`${accountId}`)}`
  const found = sql`(SELECT ${w.id} ${from})`
  return {
    entry: insertAdminEntryIf(
      entry,
      sql`EXISTS (SELECT 1 ${from} AND ${w.accountId} <> ${accountId})`,
    ),
    deliveries: write(
      sql`DELETE FROM ${outbox} WHERE ${outbox.kind} = 'webhook' AND ${outbox.targetId} IN ${found}`,
    ),
    isDeleted: writeChanges(sql`DELETE FROM ${webhooks} WHERE ${webhooks.id} IN ${found}`),
  }
}

/** Deletes the webhooks of an account and their deliveries. */
export const deleteWebhooksOf = (accountId: AccountId) => ({
  webhookDeliveries: write(
    sql`DELETE FROM ${outbox} WHERE ${outbox.kind} = 'webhook' AND ${outbox.targetId} IN
      (SELECT ${w.id} FROM ${webhooks} ${w} WHERE ${w.accountId} = ${accountId})`,
  ),
  webhooks: write(orm.delete(webhooks).where(eq(webhooks.accountId, accountId))),
})

/** Stores a test before it is sent: as a failure, until it is known how it ended. */
export const insertTest = (test: { id: string; webhookId: string; now: number }): Statement<void> =>
  write(
    orm.insert(outbox).values({
      id: test.id,
      kind: 'webhook',
      targetId: test.webhookId,
      event: 'webhook.test',
      key: `webhook.test:${test.id}`,
      state: 'failed',
      attempts: 1,
      createdAt: test.now,
      nextAt: test.now,
      triedAt: test.now,
    }),
  )

/** Stores how a test ended. */
export const recordTest = (test: { id: string; state: 'sent' | 'failed'; answer: string }) =>
  write(
    orm
      .update(outbox)
      .set({ state: test.state, answer: test.answer })
      .where(eq(outbox.id, test.id)),
  )

/** Selects a delivery to a webhook. */
export const selectDelivery = (webhookId: string, id: string): Statement<DeliveryRow | undefined> =>
  oneSql(
    deliveryFields,
    sql`FROM ${outbox} ${o} JOIN ${webhooks} ${w} ON ${w.id} = ${o.targetId}
      WHERE ${o.id} = ${id} AND ${o.kind} = 'webhook' AND ${w.id} = ${webhookId}`,
  )

/** Makes a delivery to an enabled webhook of an account due now; answers whether there is one. */
export const resendStatements = (delivery: {
  id: string
  webhookId: string
  accountId: AccountId
  now: number
}) => {
  const { id, webhookId, accountId, now } = delivery
  return {
    isFound: writeChanges(
      updateSet(
        outbox,
        { state: 'pending', nextAt: now },
        sql`WHERE ${outbox.id} = ${id} AND ${outbox.kind} = 'webhook' AND ${outbox.event} <> 'webhook.test'
          AND ${outbox.targetId} IN (SELECT ${w.id} FROM ${webhooks} ${w}
            WHERE ${w.id} = ${webhookId} AND ${w.accountId} = ${accountId} AND ${w.disabledAt} IS NULL)`,
      ),
    ),
    // A sender that works on it now comes back to it.
    webhook: write(
      updateSet(
        webhooks,
        { retryAt: now },
        sql`WHERE ${webhooks.id} = ${webhookId} AND ${webhooks.accountId} = ${accountId} AND ${webhooks.claim} IS NULL`,
      ),
    ),
  }
}
