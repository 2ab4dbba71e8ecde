import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { bans } from '../schema/places'

const b = alias(bans, 'ban_b')

/** A writer, where it writes, and when in milliseconds since the Unix epoch. */
export type BanValues = Readonly<Record<'accountId' | 'communityId' | 'now', SQLWrapper>>

/**
 * The mutes and bans `b` that hold for an account in a community, from `FROM` on: those of the community
 * and of the whole hub.
 */
export const activeBansSql = ({ accountId, communityId, now }: BanValues): SQL => sql`
  FROM ${bans} ${b} WHERE ${b.accountId} = ${accountId} AND ${b.liftedAt} IS NULL
    AND (${b.endsAt} IS NULL OR ${b.endsAt} > ${now})
    AND (${b.communityId} IS NULL OR ${b.communityId} = ${communityId})`

/** Columns of the table of `activeBansSql`. */
export const banFields = {
  kind: b.kind,
  reason: b.reason,
  endsAt: b.endsAt,
  communityId: b.communityId,
}

/** Whether an account is kept from writing in a community. */
export const isBannedSql = (values: BanValues): SQL =>
  sql`EXISTS (SELECT 1 ${activeBansSql(values)})`
