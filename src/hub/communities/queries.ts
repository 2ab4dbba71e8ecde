import { and, desc, eq, getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
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
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, CommunityId } from '../../shared/ids'
import { omit } from '../../shared/omit'
import { toSearchColumns } from '../../shared/search-text'
import { keepMemberships } from '../database/past-access-queries'
import { mayModerateSql } from '../rules/moderator-sql'
import { canReadSql, isShownSql, readerPlaceSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { type Community, communities, communityMembers } from '../schema/communities'
import { isAccountDisabledSql } from '../viewers/ban-sql'
import type { Reader } from '../viewers/reader'

const ownColumns = ['seq', 'searchDisplayName', 'searchDescription'] as const
const communityFields = omit(getTableColumns(communities), ownColumns)

export type CommunityRow = Omit<Community, (typeof ownColumns)[number]>

type NewCommunity = typeof communities.$inferInsert

const namesOf = ({ displayName, description }: Partial<NewCommunity>) => ({
  displayName,
  description,
})

export const insertCommunity = (community: NewCommunity): Statement<void> =>
  write(orm.insert(communities).values({ ...community, ...toSearchColumns(namesOf(community)) }))

type ByName = Params<{ name: string; reader: Reader }>

/** Selects a community by name, in any case, that the reader reads. */
export const selectCommunity = prepare(({ name, reader }: ByName) =>
  one(
    orm
      .select(communityFields)
      .from(communities)
      .where(and(eq(communities.name, name), canReadSql(communities.id, reader))),
  ),
)

/** A community as a reader sees it: admins see that one exists which they do not read. */
const shownFields = (reader: SQLWrapper) => ({
  ...communityFields,
  isReadable: flag(canReadSql(communities.id, reader)),
})

export type ShownCommunity = RowOf<ReturnType<typeof shownFields>>

const ownedFields = (reader: SQLWrapper) => ({
  ...shownFields(reader),
  /** Null for nobody. */
  you: readerPlaceSql(communities.id, reader),
})

/** A community with what its reader is to it, which decides who manages it. */
export type OwnCommunity = RowOf<ReturnType<typeof ownedFields>>

/** Selects a community that the reader reads or, as an admin, sees. */
export const selectShownCommunity = prepare(({ name, reader }: ByName) =>
  oneSql(
    ownedFields(reader),
    sql`FROM ${communities} WHERE ${communities.name} = ${name} AND ${isShownSql(communities.id, reader)}`,
  ),
)

const preparedCommunities = prepare(
  ({ reader, limit, offset }: Params<{ reader: Reader; limit: number; offset: number }>) =>
    manySql(
      shownFields(reader),
      sql`FROM ${communities} WHERE ${isShownSql(communities.id, reader)}
        ORDER BY ${communities.isMuted}, ${desc(communities.postCount)}, ${communities.name}
        LIMIT ${limit} OFFSET ${offset}`,
    ),
)

/** Selects communities with the most posts first; muted ones come last. */
export const selectCommunities = (
  reader: Reader,
  limit: number,
  offset = 0,
): Statement<ShownCommunity[]> => preparedCommunities({ reader, limit, offset })

export const updateCommunity = (
  id: CommunityId,
  fields: Partial<
    Pick<
      Community,
      'visibility' | 'displayName' | 'description' | 'followsThreads' | 'hopLimit' | 'replyLimit'
    >
  >,
): Statement<void> =>
  write(
    orm
      .update(communities)
      .set({ ...fields, ...toSearchColumns(namesOf(fields)) })
      .where(eq(communities.id, id)),
  )

const m = alias(communityMembers, 'm')
const a = alias(accounts, 'a')
const c = alias(communities, 'c')

const memberFields = {
  id: a.id,
  name: a.name,
  kind: a.kind,
  displayName: a.displayName,
  avatarId: a.avatarId,
  role: m.role,
  createdAt: m.createdAt,
}

/** An account that is listed in a community. */
export type MemberRow = RowOf<typeof memberFields>

interface MemberPage {
  name: string
  reader: Reader
  limit: number
  offset: number
}

/** Selects the members of a community that the reader reads: moderators first, then by name. */
export const selectMembers: (page: MemberPage) => Statement<MemberRow[]> = prepare(
  ({ name, reader, limit, offset }: Params<MemberPage>) =>
    manySql(
      memberFields,
      sql`FROM ${communities} ${c} JOIN ${communityMembers} ${m} ON ${m.communityId} = ${c.id}
        JOIN ${accounts} ${a} ON ${a.id} = ${m.accountId}
        WHERE ${c.name} = ${name} AND ${canReadSql(c.id, reader)}
        ORDER BY ${m.role} = 'member', ${a.name} LIMIT ${limit} OFFSET ${offset}`,
    ),
)

/** Selects one member, by the community's id and the account's name. */
export const selectMember: (of: {
  communityId: CommunityId
  name: string
}) => Statement<MemberRow | undefined> = prepare(
  ({ communityId, name }: Params<{ communityId: CommunityId; name: string }>) =>
    oneSql(
      memberFields,
      sql`FROM ${accounts} ${a} JOIN ${communityMembers} ${m} ON ${m.accountId} = ${a.id}
        WHERE ${a.name} = ${name} AND ${m.communityId} = ${communityId}`,
    ),
)

const o = alias(communityMembers, 'other')
const oa = alias(accounts, 'other_account')

/** Whether an account is the only one that moderates a community; guests do not moderate. */
const isLastModeratorSql = (communityId: CommunityId, accountId: AccountId): SQL => sql`(
  EXISTS (SELECT 1 FROM ${communityMembers} ${o} JOIN ${accounts} ${oa} ON ${oa.id} = ${o.accountId}
    WHERE ${o.communityId} = ${communityId} AND ${o.accountId} = ${accountId}
      AND ${o.role} = 'moderator' AND ${oa.role} <> 'guest')
  AND NOT EXISTS (SELECT 1 FROM ${communityMembers} ${o} JOIN ${accounts} ${oa} ON ${oa.id} = ${o.accountId}
    WHERE ${o.communityId} = ${communityId} AND ${o.accountId} <> ${accountId}
      AND ${o.role} = 'moderator' AND ${oa.role} <> 'guest' AND NOT ${isAccountDisabledSql(oa)}))`

type NewMember = typeof communityMembers.$inferInsert & { role: 'member' | 'moderator' }

/** Adds a member, also one who moderates. */
export const insertMember = (member: NewMember): Statement<void> =>
  write(orm.insert(communityMembers).values(member))

/**
 * Adds a member, or changes the role of one. Nothing when a guest would become a moderator, or when the last
 * moderator would not stay one, or `by` does not moderate the community any more; answers whether it did.
 *
 * @param by the moderator who saves it; null for an admin, who also makes the last moderator a member
 */
export const saveMember = (member: NewMember, by: AccountId | null): Statement<boolean> => {
  const { communityId, accountId, role } = member
  const isOther =
    role === 'moderator'
      ? sql`EXISTS (SELECT 1 FROM ${accounts} ${oa} WHERE ${oa.id} = ${accountId} AND ${oa.role} <> 'guest')`
      : by !== null
        ? sql`NOT ${isLastModeratorSql(communityId, accountId)}`
        : sql`true`
  const condition =
    by === null
      ? isOther
      : sql`${isOther} AND EXISTS (SELECT 1 FROM ${communityMembers} ${o} WHERE ${o.communityId} = ${communityId}
          AND ${o.accountId} = ${by} AND ${o.role} = 'moderator')`
  return writeChanges(
    insertSelect(
      communityMembers,
      member,
      sql`WHERE ${condition} ON CONFLICT DO UPDATE SET role = excluded.role`,
    ),
  )
}

/**
 * Removes a member, and keeps until when it was one; answers whether it did.
 *
 * @param keepsLast whether the last moderator stays
 */
export const deleteMember = (
  communityId: CommunityId,
  accountId: AccountId,
  { keepsLast, now }: { keepsLast: boolean; now: number },
): { membership: Statement<void>; isRemoved: Statement<boolean> } => {
  const which = sql`${communityMembers.communityId} = ${communityId} AND ${communityMembers.accountId} = ${accountId}
    ${keepsLast ? sql`AND NOT ${isLastModeratorSql(communityId, accountId)}` : sql``}`
  return {
    membership: keepMemberships(which, now),
    isRemoved: writeChanges(orm.delete(communityMembers).where(which)),
  }
}

const moderatorFields = { name: a.name, kind: a.kind, isOfHub: flag(sql`is_of_hub`) }

/** A moderator of a community, or of the whole hub. */
export type ModeratorRow = RowOf<typeof moderatorFields>

/** Selects the moderators of a community, then those of the hub, by name. Admins are not listed. */
export const selectModerators = prepare(({ community }: Params<{ community: string }>) =>
  manySql(
    moderatorFields,
    sql`FROM (
        SELECT ${m.accountId}, 0 AS is_of_hub FROM ${communities} ${c}
          JOIN ${communityMembers} ${m} ON ${m.communityId} = ${c.id} AND ${m.role} = 'moderator'
          WHERE ${c.name} = ${community}
        UNION ALL SELECT ${a.id}, 1 FROM ${accounts} ${a} WHERE ${a.isModerator} = 1) t
      CROSS JOIN ${accounts} ${a} ON ${a.id} = t.account_id AND ${a.role} <> 'guest'
      ORDER BY is_of_hub, ${a.name} LIMIT 200`,
  ),
)

const moderatorOfFields = { community: c.name, name: a.name }

/** An account that may moderate a community. */
export type ModeratorOfRow = RowOf<typeof moderatorOfFields>

const preparedModeratorsOf = prepare(({ communities: names }: Params<{ communities: string }>) =>
  manySql(
    moderatorOfFields,
    sql`FROM json_each(${names}) e JOIN ${communities} ${c} ON ${c.name} = e.value
      JOIN ${accounts} ${a} ON ${a.id} IN (SELECT ${m.accountId} FROM ${communityMembers} ${m}
          WHERE ${m.communityId} = ${c.id} AND ${m.role} = 'moderator')
        OR ${a.isModerator} = 1 OR ${a.role} = 'admin'
      WHERE ${a.deletedAt} IS NULL AND ${mayModerateSql(a.id, c.id)} ORDER BY ${a.name} LIMIT 500`,
  ),
)

/** Selects who may moderate each of the communities: moderators there and of the hub, and admins. */
export const selectModeratorsOf = (names: string[]): Statement<ModeratorOfRow[]> =>
  preparedModeratorsOf({ communities: JSON.stringify(names) })

/** Makes an account a moderator of the hub, or no longer one. */
export const setHubModerator = (id: AccountId, isModerator: boolean): Statement<void> =>
  write(orm.update(accounts).set({ isModerator }).where(eq(accounts.id, id)))
