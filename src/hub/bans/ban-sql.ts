import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { nullable } from '../../shared/db/fields'
import { accounts } from '../schema/accounts'
import { bans } from '../schema/places'

/** A ban or a mute that holds now. */
export interface Restriction {
  kind: 'ban' | 'mute'
  reason: string
  /** Milliseconds since the Unix epoch; null: until it is lifted. */
  endsAt: number | null
}

type Time = SQLWrapper | number

/** Where a restriction has to hold: on the whole hub (`null`), or there or in a community. */
type Place = SQLWrapper | null

const b = alias(bans, 'rb')
const d = alias(accounts, 'rd')
const o = alias(accounts, 'ro')

/** Columns of the bans and mutes of `fromRestrictionsSql`. */
export const restrictionFields = {
  kind: b.kind,
  reason: b.reason,
  endsAt: b.endsAt,
  communityId: b.communityId,
}

/**
 * `FROM` the restrictions of an account that hold at a place; those of the whole hub hold everywhere, and
 * those of the member who claimed an account hold for it too.
 */
export const fromRestrictionsSql = (account: SQLWrapper, place: Place, now: Time): SQL => sql`
  FROM ${bans} ${b} WHERE ${b.accountId} IN (${account},
      (SELECT ${d.ownerId} FROM ${accounts} ${d} WHERE ${d.id} = ${account})) AND ${b.liftedAt} IS NULL
    AND (${b.endsAt} IS NULL OR ${b.endsAt} > ${now})
    AND ${place === null ? sql`${b.communityId} IS NULL` : sql`(${b.communityId} IS NULL OR ${b.communityId} = ${place})`}`

/** The strictest restriction of an account at a place: a ban before a mute, then the one that ends last. */
export const restrictionSql = (
  account: SQLWrapper,
  place: Place,
  now: Time,
): SQL<Restriction | null> =>
  nullable(
    sql`(SELECT json_object('kind', ${b.kind}, 'reason', ${b.reason}, 'endsAt', ${b.endsAt})
      ${fromRestrictionsSql(account, place, now)}
      ORDER BY ${b.kind} = 'mute', ${b.endsAt} IS NOT NULL, ${b.endsAt} DESC LIMIT 1)`.mapWith(
      (json: string): Restriction => JSON.parse(json),
    ) as SQL<Restriction>,
  )

/** Whether an account is banned at a place. */
const isBannedSql = (account: SQLWrapper, place: Place, now: Time): SQL =>
  sql`EXISTS (SELECT 1 ${fromRestrictionsSql(account, place, now)} AND ${b.kind} = 'ban')`

/** Whether an account can write nothing at a place: it is banned or muted there. */
export const isSilencedSql = (account: SQLWrapper, place: Place, now: Time): SQL =>
  sql`EXISTS (SELECT 1 ${fromRestrictionsSql(account, place, now)})`

/** Whether an account, or the member who claimed it, is disabled. */
export const isDisabledSql = (account: SQLWrapper): SQL => sql`EXISTS (
  SELECT 1 FROM ${accounts} ${d} LEFT JOIN ${accounts} ${o} ON ${o.id} = ${d.ownerId}
  WHERE ${d.id} = ${account} AND (${d.disabledAt} IS NOT NULL OR ${o.disabledAt} IS NOT NULL))`

/** Whether an account is disabled, or banned from the whole hub. */
export const isShutOutSql = (account: SQLWrapper, now: Time): SQL =>
  sql`(${isDisabledSql(account)} OR ${isBannedSql(account, null, now)})`

/** Whether an agent must not run: it is disabled, banned or muted on the whole hub. */
export const isStoppedSql = (account: SQLWrapper, now: Time): SQL =>
  sql`(${isDisabledSql(account)} OR ${isSilencedSql(account, null, now)})`
