import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { triggerLimits } from '../../shared/config'
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
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { mayModerateSql } from '../rules/moderator-sql'
import { optionalPersonSql, personSql } from '../rules/people-sql'
import { optionalPlaceSql } from '../rules/places'
import { canAccountReadSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { communities } from '../schema/communities'
import { agents, receivedReviews } from '../schema/definitions'
import { triggerDeliveries, triggers } from '../schema/triggers'
import { isStoppedAccountSql } from '../viewers/ban-sql'
import { prepareForViewer, type ViewerValues, viewer, viewerCte } from '../viewers/queries'

const t = alias(triggers, 't')
const d = alias(triggerDeliveries, 'd')
const u = alias(accounts, 'u')
const a = alias(accounts, 'a')
const c = alias(communities, 'c')
const g = alias(agents, 'g')

const hourMs = 3_600_000
const toNumber = (value: number): SQL => sql.raw(String(value))

/** The tables of `triggerFields`. */
const tables = sql`${triggers} ${t} JOIN ${accounts} ${u} ON ${u.id} = ${t.accountId}
  LEFT JOIN ${communities} ${c} ON ${c.id} = ${t.communityId}
  LEFT JOIN ${accounts} ${a} ON ${a.id} = ${t.agentId}`

const triggerFields = {
  id: t.id,
  /** Null where it gives an agent a task. */
  community: optionalPlaceSql(c),
  /** Null where it posts. */
  agent: optionalPersonSql(a),
  owner: personSql(u),
  template: t.template,
  takesReviews: t.takesReviews,
  verify: t.verify,
  perHourMax: t.perHourMax,
  secretVersion: t.secretVersion,
  oldSecretsUntil: t.oldSecretsUntil,
  createdAt: t.createdAt,
}

/** A trigger without its secret. Times are milliseconds since the Unix epoch. */
export type TriggerRow = RowOf<typeof triggerFields>

/** Selects the viewer's triggers, the newest first. */
export const selectTriggers = prepareForViewer((v) =>
  manySql(
    triggerFields,
    sql`FROM ${viewer} CROSS JOIN ${tables} WHERE ${t.accountId} = ${viewer.id}
      ORDER BY ${t.createdAt} DESC, ${t.id} DESC LIMIT ${toNumber(triggerLimits.perAccountMax)}`,
    viewerCte(v),
  ),
)

const listedMax = 100

/** Whether the viewer sees a trigger of a community: it is the viewer's, or the viewer moderates there. */
const isShownSql = sql`(${t.accountId} = ${viewer.id} OR ${mayModerateSql(sql`${viewer.id}`, t.communityId)})`

/** Selects the triggers that post in a community, as far as the viewer sees them: moderators all, others their own. */
export const selectTriggersOf = prepare((v: Params<ViewerValues & { community: string }>) =>
  manySql(
    triggerFields,
    sql`FROM ${viewer} CROSS JOIN ${tables}
      WHERE ${t.communityId} = (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${v.community})
        AND ${isShownSql}
      ORDER BY ${t.createdAt} DESC, ${t.id} DESC LIMIT ${toNumber(listedMax)}`,
    viewerCte(v),
  ),
)

/** Selects a trigger that the viewer sees. */
export const selectShownTrigger = prepare((v: Params<ViewerValues & { id: string }>) =>
  oneSql(
    triggerFields,
    sql`FROM ${viewer} CROSS JOIN ${tables} WHERE ${t.id} = ${v.id} AND ${isShownSql}`,
    viewerCte(v),
  ),
)

const deliveryFields = {
  triggerId: d.triggerId,
  id: d.id,
  at: d.at,
  outcome: d.outcome,
  event: d.event,
  note: d.note,
  postId: d.postId,
}

export type DeliveryRow = RowOf<typeof deliveryFields>

const latestSql = sql`${d.id} IN (SELECT l.id FROM ${triggerDeliveries} l WHERE l.trigger_id = ${t.id}
  ORDER BY l.at DESC, l.id DESC LIMIT ${toNumber(triggerLimits.shownMax)})`

/** Selects the last deliveries of each of the viewer's triggers, the newest first. */
export const selectDeliveries = prepareForViewer((v) =>
  manySql(
    deliveryFields,
    sql`FROM ${viewer} CROSS JOIN ${triggers} ${t} ON ${t.accountId} = ${viewer.id}
      CROSS JOIN ${triggerDeliveries} ${d} ON ${latestSql} ORDER BY ${d.at} DESC, ${d.id} DESC`,
    viewerCte(v),
  ),
)

/** The same of the triggers of `selectTriggersOf`. */
export const selectDeliveriesOf = prepare((v: Params<ViewerValues & { community: string }>) =>
  manySql(
    deliveryFields,
    sql`FROM ${viewer} CROSS JOIN ${triggers} ${t}
      ON ${t.communityId} = (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${v.community})
        AND ${isShownSql}
      CROSS JOIN ${triggerDeliveries} ${d} ON ${latestSql} ORDER BY ${d.at} DESC, ${d.id} DESC`,
    viewerCte(v),
  ),
)

/** Whether the owner `u` of the trigger `t` may do now what it does. */
const isAllowedSql = (now: SQLWrapper): SQL => sql`(${u.kind} = 'human' AND ${u.role} <> 'guest'
  AND ${u.deletedAt} IS NULL AND NOT ${isStoppedAccountSql(u, now)}
  AND iif(${t.agentId} IS NULL, ${canAccountReadSql(t.communityId, u)},
    EXISTS (SELECT 1 FROM ${agents} ${g} WHERE ${g.accountId} = ${t.agentId} AND (${g.answersDms} = 1 OR ${t.takesReviews} = 1))))`

const receivingFields = (now: SQLWrapper) => ({
  ...triggerFields,
  ownerId: t.accountId,
  agentId: t.agentId,
  isAllowed: flag(isAllowedSql(now)),
})

/** A trigger, as what a delivery needs. */
export type ReceivingTrigger = RowOf<ReturnType<typeof receivingFields>>

/** Selects the trigger of a delivery. */
export const selectReceiving = prepare((v: Params<{ id: string; now: number }>) =>
  oneSql(receivingFields(v.now), sql`FROM ${tables} WHERE ${t.id} = ${v.id}`),
)

type NewTrigger = Pick<
  typeof triggers.$inferSelect,
  | 'id'
  | 'accountId'
  | 'communityId'
  | 'agentId'
  | 'template'
  | 'takesReviews'
  | 'verify'
  | 'perHourMax'
  | 'createdAt'
>

/**
 * Inserts a trigger. When the account has as many as it may have, its time is null: that fails the constraint
 * `triggers.created_at` and with it the whole batch.
 */
export const insertTrigger = ({ createdAt, ...row }: NewTrigger): Statement<void> =>
  write(
    insertSelect(
      triggers,
      {
        ...row,
        createdAt: sql`iif((SELECT count(*) FROM ${triggers} ${t} WHERE ${t.accountId} = ${row.accountId})
          < ${toNumber(triggerLimits.perAccountMax)}, ${createdAt}, NULL)`,
      },
      sql`WHERE true`,
    ),
  )

const isOwnedSql = (id: string, accountId: AccountId): SQL =>
  sql`${triggers.id} = ${id} AND ${triggers.accountId} = ${accountId}`

/** Gives a trigger of an account the secret after a version; answers false when it is gone or has another one meanwhile. */
export const advanceSecret = (
  { id, secretVersion }: Pick<TriggerRow, 'id' | 'secretVersion'>,
  accountId: AccountId,
  oldSecretsUntil: readonly number[],
) =>
  writeChanges(
    updateSet(
      triggers,
      {
        secretVersion: secretVersion + 1,
        oldSecretsUntil: sql`${JSON.stringify(oldSecretsUntil)}`,
      },
      sql`WHERE ${isOwnedSql(id, accountId)} AND ${triggers.secretVersion} = ${secretVersion}`,
    ),
  )

/** Selects what the secret of a trigger of an account depends on. */
export const selectTriggerKey = (id: string, accountId: AccountId) =>
  oneSql(
    {
      id: triggers.id,
      verify: triggers.verify,
      secretVersion: triggers.secretVersion,
      oldSecretsUntil: triggers.oldSecretsUntil,
    },
    sql`FROM ${triggers} WHERE ${isOwnedSql(id, accountId)}`,
  )

/** Deletes a trigger of an account, or of a community that it moderates, and what was sent to it. */
export const deleteTrigger = (id: string, accountId: AccountId) => {
  const isOwn = sql`(${triggers.accountId} = ${accountId} OR ${mayModerateSql(sql`${accountId}`, triggers.communityId)})`
  return {
    reviews: write(
      sql`DELETE FROM ${receivedReviews} WHERE ${receivedReviews.triggerId} IN
        (SELECT ${triggers.id} FROM ${triggers} WHERE ${triggers.id} = ${id} AND ${isOwn})`,
    ),
    deliveries: write(
      sql`DELETE FROM ${triggerDeliveries} WHERE ${triggerDeliveries.triggerId} IN
        (SELECT ${triggers.id} FROM ${triggers} WHERE ${triggers.id} = ${id} AND ${isOwn})`,
    ),
    isDeleted: writeChanges(sql`DELETE FROM ${triggers} WHERE ${triggers.id} = ${id} AND ${isOwn}`),
  }
}

/** Deletes the triggers of an account, those for an agent, and what was sent to them. */
export const deleteTriggersOf = (id: AccountId) => ({
  triggerDeliveries: write(
    sql`DELETE FROM ${triggerDeliveries} WHERE ${triggerDeliveries.triggerId} IN
      (SELECT ${t.id} FROM ${triggers} ${t} WHERE ${t.accountId} = ${id} OR ${t.agentId} = ${id})`,
  ),
  triggers: write(
    sql`DELETE FROM ${triggers} WHERE ${triggers.accountId} = ${id} OR ${triggers.agentId} = ${id}`,
  ),
})

type Delivery = Omit<typeof triggerDeliveries.$inferSelect, 'outcome'>

/** Lets a body be sent again, where the sender names no delivery and the last one was a while ago. */
export const releaseBody = (
  { triggerId, deliveryKey }: Delivery,
  before: number,
): Statement<void> =>
  write(
    updateSet(
      triggerDeliveries,
      { deliveryKey: null },
      sql`WHERE ${triggerDeliveries.triggerId} = ${triggerId}
        AND ${triggerDeliveries.deliveryKey} = ${deliveryKey} AND ${triggerDeliveries.at} <= ${before}`,
    ),
  )

/** Constraints that `insertDelivery` fails, and with it the whole batch. */
export const deliveryConstraints = {
  sameDelivery: 'trigger_deliveries.delivery_key',
  sameBody: 'trigger_deliveries.body_key',
  /** The trigger is gone, or its owner must not do any more what it does. */
  notAllowed: 'trigger_deliveries.at',
  overLimit: 'trigger_deliveries.outcome',
} as const

/** Records a delivery that starts something, in the batch that starts it. Fails `deliveryConstraints`. */
export const insertDelivery = ({ at, ...row }: Delivery): Statement<void> =>
  write(
    insertSelect(
      triggerDeliveries,
      {
        ...row,
        at: sql`iif(EXISTS (SELECT 1 FROM ${triggers} ${t} JOIN ${accounts} ${u} ON ${u.id} = ${t.accountId}
          WHERE ${t.id} = ${row.triggerId} AND ${isAllowedSql(sql`${at}`)}), ${at}, NULL)`,
        outcome: sql`iif((SELECT count(*) FROM ${triggerDeliveries} ${d} WHERE ${d.triggerId} = ${row.triggerId}
            AND ${d.at} > ${at - hourMs} AND ${d.outcome} = 'accepted')
          < (SELECT ${t.perHourMax} FROM ${triggers} ${t} WHERE ${t.id} = ${row.triggerId}), 'accepted', NULL)`,
      },
      sql`WHERE true`,
    ),
  )

/** Selects after how long a trigger that has accepted as many as it may within an hour accepts one again. */
export const selectWait = (triggerId: string, now: number) =>
  oneSql(
    { ms: sql<number | null>`min(${d.at}) + ${hourMs - now}` },
    sql`FROM ${triggerDeliveries} ${d} WHERE ${d.triggerId} = ${triggerId}
      AND ${d.at} > ${now - hourMs} AND ${d.outcome} = 'accepted'`,
  )

/** Deletes deliveries that are older than they are kept. */
export const deleteOldDeliveries = (triggerId: string, now: number): Statement<void> =>
  write(
    sql`DELETE FROM ${triggerDeliveries} WHERE ${triggerDeliveries.triggerId} = ${triggerId}
      AND ${triggerDeliveries.at} < ${now - triggerLimits.keptMs}`,
  )

/** Records a delivery that started nothing, of a trigger that is still there, in the place of older such ones. */
export const insertRefused = (row: typeof triggerDeliveries.$inferSelect) => ({
  refused: write(
    insertSelect(
      triggerDeliveries,
      row,
      sql`WHERE EXISTS (SELECT 1 FROM ${triggers} WHERE ${triggers.id} = ${row.triggerId})`,
    ),
  ),
  older: write(
    sql`DELETE FROM ${triggerDeliveries} WHERE ${triggerDeliveries.triggerId} = ${row.triggerId}
      AND ${triggerDeliveries.outcome} <> 'accepted' AND ${triggerDeliveries.id} NOT IN (
        SELECT ${d.id} FROM ${triggerDeliveries} ${d} WHERE ${d.triggerId} = ${row.triggerId}
          AND ${d.outcome} <> 'accepted' ORDER BY ${d.at} DESC, ${d.id} DESC LIMIT ${toNumber(triggerLimits.refusedMax)})`,
  ),
})

/** Selects whether a delivery was accepted before. */
export const selectAccepted = (triggerId: string, deliveryKey: string) =>
  oneSql(
    { postId: d.postId },
    sql`FROM ${triggerDeliveries} ${d} WHERE ${d.triggerId} = ${triggerId} AND ${d.deliveryKey} = ${deliveryKey}`,
  )

/** Selects an agent of this hub: one that people can ask outside of threads, or any for reviews of its own pull requests. */
export const selectAskedAgent = (name: string, isForReviews: boolean) =>
  oneSql(
    { id: a.id, person: personSql(a) },
    sql`FROM ${accounts} ${a} JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      AND (${g.answersDms} = 1 OR ${Number(isForReviews)}) WHERE ${a.name} = ${name}`,
  )
