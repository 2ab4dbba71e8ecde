import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { nullable } from '../../shared/db/fields'
import { orm, type Statement, write } from '../../shared/db/statement'
import { accounts, claims } from '../schema/accounts'
import { activations } from '../schema/activations'
import { bans } from '../schema/communities'

/** A ban or a mute that holds now. */
export interface Restriction {
  kind: 'ban' | 'mute'
  reason: string
  /** Milliseconds since the Unix epoch; null: until it is lifted. */
  endsAt: number | null
}

type Time = SQLWrapper | number

/** Where a restriction has to hold: on the whole hub (`null`), or there or in a community (or nowhere else: NULL). */
type Place = SQLWrapper | null

const b = alias(bans, 'rb')
const d = alias(accounts, 'rd')
const o = alias(accounts, 'ro')
const x = alias(activations, 'rx')

/** Columns of the bans and mutes of `fromWriterRestrictionsSql`. */
export const restrictionFields = {
  kind: b.kind,
  reason: b.reason,
  endsAt: b.endsAt,
  communityId: b.communityId,
  /** The account that it restricts, or that its owner claimed. */
  accountId: d.id,
  accountName: d.name,
}

/** Bans or mutes an account. */
export const insertBan = (ban: typeof bans.$inferInsert): Statement<void> =>
  write(orm.insert(bans).values(ban))

/** Whether an account has registered and no member has claimed it yet. */
export const isPendingSql = ({ id }: Readonly<Record<'id', SQLWrapper>>): SQL =>
  sql`EXISTS (SELECT 1 FROM ${claims} WHERE ${claims.accountId} = ${id})`

/** Columns of an account that a query has at hand, so that none of these conditions reads it again. */
type Account = Readonly<Record<'id' | 'ownerId' | 'disabledAt', SQLWrapper>>

/** An account that bans are looked up of. */
type Restricted = Pick<Account, 'id' | 'ownerId'>

/** An account that writes and, for an agent in a run, its activation; NULL for everybody else. */
export type Writer = Readonly<Record<'accountId' | 'activationId', SQLWrapper>>

const isOfAccountSql = ({ id, ownerId }: Restricted): SQL =>
  sql`${b.accountId} IN (${id}, ${ownerId})`

const holdsSql = (now: Time): SQL =>
  sql`${b.liftedAt} IS NULL AND (${b.endsAt} IS NULL OR ${b.endsAt} > ${now})`

const holdsAtSql = (place: Place, now: Time): SQL => sql`${holdsSql(now)}
    AND ${place === null ? sql`${b.communityId} IS NULL` : sql`(${b.communityId} IS NULL OR ${b.communityId} = ${place})`}`

/**
 * `FROM` the restrictions of an account that hold at a place; those of the whole hub hold everywhere, and
 * those of the member who claimed an account hold for it too.
 */
const fromRestrictionsSql = (account: Restricted, place: Place, now: Time): SQL =>
  sql`FROM ${bans} ${b} WHERE ${isOfAccountSql(account)} AND ${holdsAtSql(place, now)}`

/**
 * `FROM` the restrictions that keep a writer from writing at a place: its own and, in a run, those of the
 * requesters, so that nobody writes through an agent where they must not. The account is `rd`.
 */
export const fromWriterRestrictionsSql = (writer: Writer, place: Place, now: Time): SQL => sql`
  FROM (SELECT ${writer.accountId} AS id UNION ALL
      SELECT n.value FROM ${activations} ${x}, json_each(${x.requesters}) n WHERE ${x.id} = ${writer.activationId}) w
    CROSS JOIN ${accounts} ${d} ON ${d.id} = w.id CROSS JOIN ${bans} ${b} ON ${isOfAccountSql(d)}
  WHERE ${holdsAtSql(place, now)}`

/** The strictest restriction of an account at a place: a ban before a mute, then the one that ends last. */
export const restrictionSql = (
  account: Account,
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

/** Whether an account is banned or muted anywhere, on the whole hub or in a community. */
export const isRestrictedSql = (account: Restricted, now: Time): SQL =>
  sql`EXISTS (SELECT 1 FROM ${bans} ${b} WHERE ${isOfAccountSql(account)} AND ${holdsSql(now)})`

/** Whether an account is banned at a place. */
const isBannedSql = (account: Account, place: Place, now: Time): SQL =>
  sql`EXISTS (SELECT 1 ${fromRestrictionsSql(account, place, now)} AND ${b.kind} = 'ban')`

/** Whether an account can write nothing at a place: it is banned or muted there. */
const isSilencedSql = (account: Restricted, place: Place, now: Time): SQL =>
  sql`EXISTS (SELECT 1 ${fromRestrictionsSql(account, place, now)})`

/** Whether a writer can write nothing at a place: it, or a requester of its run, is banned or muted there. */
export const isWriterSilencedSql = (writer: Writer, place: Place, now: Time): SQL =>
  sql`EXISTS (SELECT 1 ${fromWriterRestrictionsSql(writer, place, now)})`

/** Whether an account, or the member who claimed it, is disabled. */
export const isAccountDisabledSql = ({ disabledAt, ownerId }: Account): SQL =>
  sql`(${disabledAt} IS NOT NULL OR EXISTS (
    SELECT 1 FROM ${accounts} ${o} WHERE ${o.id} = ${ownerId} AND ${o.disabledAt} IS NOT NULL))`

/** Whether an account is disabled, or banned from the whole hub. */
export const isAccountShutOutSql = (account: Account, now: Time): SQL =>
  sql`(${isAccountDisabledSql(account)} OR ${isBannedSql(account, null, now)})`

/** Reads an account by its id, for a query that does not have its columns at hand. */
const holdsForSql = (id: SQLWrapper, condition: SQL): SQL =>
  sql`EXISTS (SELECT 1 FROM ${accounts} ${d} WHERE ${d.id} = ${id} AND ${condition})`

/** Whether the account with an id, or the member who claimed it, is disabled. */
export const isDisabledSql = (id: SQLWrapper): SQL => holdsForSql(id, isAccountDisabledSql(d))

/** Whether the account with an id is disabled, or banned from the whole hub. */
export const isShutOutSql = (id: SQLWrapper, now: Time): SQL =>
  holdsForSql(id, isAccountShutOutSql(d, now))

/** Whether an agent must not run, or nothing must run for the account: it is disabled, banned or muted. */
export const isStoppedAccountSql = (account: Account, now: Time, place: Place = null): SQL =>
  sql`(${isAccountDisabledSql(account)} OR ${isSilencedSql(account, place, now)})`

/** Whether the agent with an id must not run, or nothing must run for the account: it is disabled, banned or muted. */
export const isStoppedSql = (id: SQLWrapper, now: Time, place: Place = null): SQL =>
  holdsForSql(id, isStoppedAccountSql(d, now, place))
