import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Keyset } from '../../shared/cursor'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, newIdSql } from '../../shared/db/write-sql'
import type { AccountId, CommunityId } from '../../shared/ids'
import { type PersonAnswer, personSql } from '../rules/people-sql'
import { optionalPlaceSql, type PlaceAnswer, placeSql } from '../rules/places'
import { canReadSql, isPrivateRunSql, isShownSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { adminOpenings, communities, communityMembers } from '../schema/communities'
import { inboxItems } from '../schema/inbox'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const a = alias(accounts, 'a')
const c = alias(communities, 'c')
const m = alias(communityMembers, 'm')
const n = alias(communityMembers, 'n')
const o = alias(adminOpenings, 'o')
const x = alias(activations, 'x')

const jsonOf = <Value>(column: SQL): SQL<Value | null> =>
  column.mapWith((json: string): Value => JSON.parse(json)) as SQL<Value | null>

const ownerFields = {
  id: sql<AccountId | CommunityId>`w.id`,
  /** Such as `m/cellar` or `@mira`. */
  label: sql<string>`w.label`,
  /** Of the two the one that it is. */
  community: jsonOf<PlaceAnswer>(sql`w.community`),
  account: jsonOf<PersonAnswer>(sql`w.account`),
}

/** A community or an account that something is private to. */
export type Owner = RowOf<typeof ownerFields>

/** Communities `c` and accounts `a` as owners. */
const ownersSql = (ofCommunities: SQL, ofAccounts: SQL): SQL => sql`FROM (
  SELECT ${c.id} AS id, 'm/' || ${c.name} AS label, ${placeSql(c)} AS community, NULL AS account FROM ${communities} ${c} WHERE ${ofCommunities}
  UNION ALL SELECT ${a.id}, '@' || ${a.name}, NULL, ${personSql(a)} FROM ${accounts} ${a} WHERE ${ofAccounts}) w`

interface OwnerName {
  name: string
  reader: Reader
}

/** Selects a community that an admin sees and does not read, by its name. */
export const selectCommunityOwner = prepare(({ name, reader }: Params<OwnerName>) =>
  manySql(
    ownerFields,
    ownersSql(
      sql`${c.name} = ${name} AND NOT ${canReadSql(c.id, reader)} AND ${isShownSql(c.id, reader)}`,
      sql`0`,
    ),
  ),
)

/** Selects another account than the admin's, by its name. */
export const selectAccountOwner = prepare(
  ({ name, adminId }: Params<{ name: string; adminId: AccountId }>) =>
    manySql(ownerFields, ownersSql(sql`0`, sql`${a.name} = ${name} AND ${a.id} <> ${adminId}`)),
)

interface OfRun {
  id: string
  adminId: AccountId
  reader: Reader
}

/** Selects whom a run is private to: a community that the admin does not read, or its requesters. */
export const selectOwnersOfRun = prepare(({ id, adminId, reader }: Params<OfRun>) =>
  manySql(
    ownerFields,
    ownersSql(
      sql`${c.id} = (SELECT ${x.communityId} FROM ${activations} ${x} WHERE ${x.id} = ${id})
        AND NOT ${canReadSql(c.id, reader)}`,
      sql`${a.id} IN (SELECT r.value FROM ${activations} ${x}, json_each(${x.requesters}) r
        WHERE ${x.id} = ${id} AND ${isPrivateRunSql(x)})
        AND NOT EXISTS (SELECT 1 FROM ${activations} ${x}, json_each(${x.requesters}) r
          WHERE ${x.id} = ${id} AND r.value = ${adminId})`,
    ),
  ),
)

interface Owners {
  /** JSON list of ids. */
  owners: string
  reader: Reader
  adminId: AccountId
}

/** Selects those of some owners whose private data an admin has not opened and does not read otherwise. */
export const selectClosedOwners = prepare(({ owners, reader, adminId }: Params<Owners>) => {
  const isOpen = sql`EXISTS (SELECT 1 FROM ${adminOpenings} ${o} WHERE ${o.ownerId} = e.value
    AND ${o.accountId} = ${adminId} AND ${o.expiresAt} > ${reader} ->> 'now')`
  return manySql(
    {
      id: sql<string>`e.value`,
      label: sql<string>`coalesce('m/' || ${c.name}, '@' || ${a.name}, 'several')`,
    },
    sql`FROM json_each(${owners}) e LEFT JOIN ${communities} ${c} ON ${c.id} = e.value
      LEFT JOIN ${accounts} ${a} ON ${a.id} = e.value
      WHERE e.value <> ${adminId} AND NOT ${isOpen}
        AND NOT (${c.id} IS NOT NULL AND ${canReadSql(c.id, reader)})`,
  )
})

export const insertOpening = (opening: typeof adminOpenings.$inferInsert): Statement<void> =>
  write(orm.insert(adminOpenings).values(opening))

interface Notice {
  timeId: string
  ownerId: AccountId | CommunityId
  adminId: AccountId
  text: string
  now: number
}

/** Notifies an account, or the moderators of a community; all of its members when it has no moderator. */
export const notifyOwners = prepare((v: Params<Notice>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.timeId),
        accountId: a.id,
        type: 'system',
        fromAccountId: v.adminId,
        content: v.text,
        createdAt: v.now,
      },
      sql`FROM ${accounts} ${a} WHERE ${a.id} <> ${v.adminId} AND ${a.kind} <> 'system' AND ${a.isImported} = 0
        AND (${a.id} = ${v.ownerId} OR ${a.id} IN (SELECT ${m.accountId} FROM ${communityMembers} ${m}
          WHERE ${m.communityId} = ${v.ownerId} AND (${m.role} = 'moderator' OR NOT EXISTS (
            SELECT 1 FROM ${communityMembers} ${n} WHERE ${n.communityId} = ${v.ownerId} AND ${n.role} = 'moderator'))))`,
    ),
  ),
)

const openingFields = {
  id: o.id,
  by: personSql(a),
  /** Null for what is private to the viewer. */
  community: optionalPlaceSql(c),
  reason: o.reason,
  createdAt: o.createdAt,
  expiresAt: o.expiresAt,
}

/** What an admin opened. */
export type OpeningRow = RowOf<typeof openingFields>

interface ListValues extends ViewerValues {
  community: string | null
  beforeAt: number
  beforeId: string
  limit: number
}

const selectVisible = prepare((v: Params<ListValues>) =>
  manySql(
    openingFields,
    sql`FROM ${viewer} CROSS JOIN ${adminOpenings} ${o} JOIN ${accounts} ${a} ON ${a.id} = ${o.accountId}
      LEFT JOIN ${communities} ${c} ON ${c.id} = ${o.ownerId}
      WHERE ${o.ownerId} IN (SELECT ${viewer.id} UNION ALL SELECT ${m.communityId} FROM ${communityMembers} ${m}
        WHERE ${m.accountId} = ${viewer.id} AND ${m.role} = 'moderator')
        AND (${v.community} IS NULL OR ${c.name} = ${v.community})
        AND (${o.createdAt}, ${o.id}) < (${v.beforeAt}, ${v.beforeId})
      ORDER BY ${o.createdAt} DESC, ${o.id} DESC LIMIT ${v.limit}`,
    viewerCte(v),
  ),
)

/** Selects what admins opened of the viewer's, and of communities that the viewer moderates, newest first. */
export const selectOpenings = (
  credential: Credential | null,
  now: number,
  { before, ...list }: { community: string | null; before: Keyset | null; limit: number },
): Statement<OpeningRow[]> => {
  const [beforeAt, beforeId] = before ?? [Number.MAX_SAFE_INTEGER, '']
  return selectVisible({ ...viewerValues(credential, now), ...list, beforeAt, beforeId })
}
