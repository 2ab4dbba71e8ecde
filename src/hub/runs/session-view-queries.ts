import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare } from '../../shared/db/statement'
import type { DataOwner } from '../contract/hub'
import { changedRequestsSql } from '../inbox/stop-queries'
import { canReadSql, isOpenedSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { adminOpenings, communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import type { Reader } from '../viewers/reader'

const a = alias(accounts, 'a')
const c = alias(communities, 'c')
const g = alias(agents, 'g')
const o = alias(adminOpenings, 'o')

/** Communities with restricted readers whose data one page looks up. */
const communitiesMax = sql.raw('100')

/**
 * Selects whose private data of an agent the reader of a request sees: the communities with restricted readers
 * that they read, and what they have opened as an admin.
 */
export const selectSeenOwners = prepare(({ reader }: Params<{ reader: Reader }>) =>
  manySql(
    {
      id: sql<DataOwner>`id`,
      /** `m/name` of a community; null for what an admin has opened. */
      label: sql<string | null>`label`,
      isOpened: flag(sql`is_opened`),
    },
    sql`FROM (
      SELECT * FROM (SELECT ${c.id} AS id, 'm/' || ${c.name} AS label, 0 AS is_opened FROM ${communities} ${c}
        WHERE ${c.visibility} <> 'public' AND ${canReadSql(c.id, reader)} ORDER BY ${c.name} LIMIT ${communitiesMax})
      UNION ALL
      SELECT DISTINCT ${o.ownerId}, NULL, 1 FROM ${adminOpenings} ${o}
      WHERE ${o.expiresAt} > ${reader} ->> 'now' AND ${isOpenedSql(sql`(${o.ownerId})`, reader)})`,
  ),
)

/** Selects an agent of this hub with the member who owns it, and what it has to forget. */
export const selectKnowingAgent = prepare(({ name }: Params<{ name: string }>) =>
  oneSql(
    {
      id: a.id,
      name: a.name,
      etag: g.definitionEtag,
      ownerId: a.ownerId,
      changed: changedRequestsSql(a.id),
    },
    sql`FROM ${accounts} ${a} JOIN ${agents} ${g} ON ${g.accountId} = ${a.id} WHERE ${a.name} = ${name}`,
  ),
)
