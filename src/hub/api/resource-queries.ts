import { sql } from 'drizzle-orm'
import { manySql, type Params, prepare } from '../../shared/db/statement'
import { canReadSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { communities } from '../schema/communities'
import type { Reader } from '../viewers/reader'

type Search = Params<{ prefix: string; limit: number }>

/** The first text in the order of names after all that begin with the prefix. */
const endSql = (prefix: Search['prefix']) => sql`(${prefix} || char(1114111))`

/** Selects the names of accounts that begin so, in any case. */
export const selectAccountNames = prepare(({ prefix, limit }: Search) =>
  manySql(
    { name: accounts.name },
    sql`FROM ${accounts} WHERE ${accounts.name} >= ${prefix} AND ${accounts.name} < ${endSql(prefix)}
      AND ${accounts.kind} <> 'system' AND ${accounts.deletedAt} IS NULL
      ORDER BY ${accounts.name} LIMIT ${limit}`,
  ),
)

/** Selects the names of communities that begin so, in any case, and that the reader reads. */
export const selectCommunityNames = prepare(
  ({ prefix, limit, reader }: Search & Params<{ reader: Reader }>) =>
    manySql(
      { name: communities.name },
      sql`FROM ${communities} WHERE ${communities.name} >= ${prefix} AND ${communities.name} < ${endSql(prefix)}
        AND ${canReadSql(communities.id, reader)} ORDER BY ${communities.name} LIMIT ${limit}`,
    ),
)
