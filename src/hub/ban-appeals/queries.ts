import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Keyset } from '../../shared/cursor'
import { nullable, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { isAccountShutOutSql } from '../bans/ban-sql'
import { failWith } from '../moderation/guard-queries'
import { accounts, adminAccountId } from '../schema/accounts'
import { banAppeals } from '../schema/moderation'
import { bans } from '../schema/places'
import {
  bannedViewerCte,
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'

const b = alias(bans, 'b')
const z = alias(banAppeals, 'z')
const u = alias(accounts, 'u')
const by = alias(accounts, 'by')
const o = alias(accounts, 'o')

const banFields = {
  id: b.id,
  kind: b.kind,
  reason: b.reason,
  createdAt: b.createdAt,
  endsAt: b.endsAt,
  appeal: nullable(z.text),
  appealedAt: nullable(z.createdAt),
  outcome: nullable(z.outcome),
  outcomeReason: nullable(z.reason),
}

/** A ban or a mute of the whole hub that holds, with its appeal. */
export type HubBanRow = RowOf<typeof banFields>

const holdsSql = (now: Params<{ now: number }>['now']) => sql`
  ${b.communityId} IS NULL AND ${b.liftedAt} IS NULL AND (${b.endsAt} IS NULL OR ${b.endsAt} > ${now})`

const preparedOwnBans = prepare((v: Params<ViewerValues>) =>
  manySql(
    banFields,
    sql`FROM ${bans} ${b} LEFT JOIN ${banAppeals} ${z} ON ${z.banId} = ${b.id}
      WHERE ${b.accountId} = (SELECT ${viewer.id} FROM ${viewer}) AND ${holdsSql(v.now)}
      ORDER BY ${b.createdAt} DESC, ${b.id} DESC LIMIT 50`,
    bannedViewerCte(v),
  ),
)

/** Selects the bans and mutes of the whole hub that hold for the viewer, who may be banned. */
export const selectOwnBans = (credential: Credential | null, now: number): Statement<HubBanRow[]> =>
  preparedOwnBans(viewerValues(credential, now))

const appealedFields = {
  ...banFields,
  accountId: u.id,
  accountName: u.name,
  accountKind: u.kind,
  createdById: by.id,
  createdByName: by.name,
}

/** A ban or a mute of the whole hub with whom it is about and who made it. */
export type AppealedBanRow = RowOf<typeof appealedFields>

const appealedTables = sql`${bans} ${b} JOIN ${accounts} ${u} ON ${u.id} = ${b.accountId}
  JOIN ${accounts} ${by} ON ${by.id} = ${b.createdBy} LEFT JOIN ${banAppeals} ${z} ON ${z.banId} = ${b.id}`

const preparedBan = prepare((v: Params<{ id: string; now: number }>) =>
  oneSql(
    appealedFields,
    sql`FROM ${appealedTables} WHERE ${b.id} = ${v.id} AND ${holdsSql(v.now)}`,
  ),
)

/** Selects a ban or a mute of the whole hub that holds. */
export const selectHubBan = (id: string, now: number): Statement<AppealedBanRow | undefined> =>
  preparedBan({ id, now })

/** A page, oldest first. `after` is time of the appeal and id of the ban of the last row of the previous one. */
interface AppealsPage {
  after: Keyset | null
  limit: number
}

const preparedOpen = prepare(
  (v: Params<ViewerValues & { afterAt: number; afterId: string; limit: number }>) =>
    manySql(
      appealedFields,
      sql`FROM ${appealedTables} WHERE ${z.outcome} IS NULL AND ${z.banId} IS NOT NULL
        AND EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin')
        AND (${z.createdAt}, ${z.banId}) > (${v.afterAt}, ${v.afterId})
      ORDER BY ${z.createdAt}, ${z.banId} LIMIT ${v.limit}`,
      viewerCte(v),
    ),
)

/** Selects open appeals of bans and mutes of the whole hub, oldest first; none unless the viewer is an admin. */
export const selectOpenBanAppeals = (
  credential: Credential | null,
  now: number,
  { after, limit }: AppealsPage,
): Statement<AppealedBanRow[]> => {
  const [afterAt, afterId] = after ?? [0, '']
  return preparedOpen({ ...viewerValues(credential, now), afterAt, afterId, limit })
}

export const insertBanAppeal = (appeal: typeof banAppeals.$inferInsert): Statement<void> =>
  write(orm.insert(banAppeals).values(appeal))

interface Decision {
  banId: string
  outcome: 'upheld' | 'reversed'
  reason: string
  decidedBy: AccountId
  now: number
}

export const decideBanAppealStatement = ({ banId, now, ...decision }: Decision): Statement<void> =>
  write(
    updateSet(
      banAppeals,
      { ...decision, decidedAt: now },
      sql`WHERE ${banAppeals.banId} = ${banId} AND ${banAppeals.outcome} IS NULL`,
    ),
  )

interface Deciding {
  accountId: AccountId
  banId: string
  /** Whether somebody can act as the built-in admin account. */
  hasAdminKey: boolean
  now: number
}

/**
 * Fails its batch unless the appeal is open and another admin than this one banned or muted. The only admin
 * who can act decides alone.
 */
export const guardBanDecision: (deciding: Deciding) => Statement<void> = prepare(
  (v: Params<Deciding>) =>
    failWith(sql`(SELECT CASE WHEN ${z.outcome} IS NOT NULL THEN 'moderation_unchanged'
        WHEN ${b.createdBy} = ${v.accountId} AND EXISTS (
          SELECT 1 FROM ${accounts} ${o} WHERE ${o.role} = 'admin' AND ${o.id} NOT IN (${b.createdBy}, ${b.accountId})
            AND (${o.id} <> ${sql.raw(`'${adminAccountId}'`)} OR ${v.hasAdminKey})
            AND NOT ${isAccountShutOutSql(o, v.now)}) THEN 'moderation_own_action' END
      FROM ${banAppeals} ${z} JOIN ${bans} ${b} ON ${b.id} = ${z.banId} WHERE ${z.banId} = ${v.banId})`),
)
