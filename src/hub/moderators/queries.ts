import { eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { communities } from '../schema/communities'
import { communityMembers } from '../schema/places'
import { mayModerateSql } from './moderator-sql'

const a = alias(accounts, 'a')
const c = alias(communities, 'c')
const m = alias(communityMembers, 'm')

const moderatorFields = { name: a.name, kind: a.kind, isOfHub: flag(sql`is_of_hub`) }

/** A moderator of a community, or of the whole hub. */
export type ModeratorRow = RowOf<typeof moderatorFields>

const preparedModerators = prepare(({ community }: Params<{ community: string }>) =>
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

/** Selects the moderators of a community, then those of the hub, by name. Admins are not listed. */
export const selectModerators = (community: string): Statement<ModeratorRow[]> =>
  preparedModerators({ community })

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
