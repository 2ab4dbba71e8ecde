import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type ReplyLimits, replyLimits } from '../../shared/config'
import { unfiltered } from '../communities/readable-sql'
import { communities } from '../schema/communities'
import { posts } from '../schema/posts'
import { settings } from '../schema/system'

/** Key of the hub's limits in `settings`; the value is a JSON object. */
export const hubLimitsKey = 'reply_limits'

const k = alias(communities, 'k')

const s = alias(settings, 's')
const hubKeySql = sql.raw(`'${hubLimitsKey}'`)
const valueSql = (name: keyof ReplyLimits): SQL => sql`${s.value} ->> ${sql.raw(`'$.${name}'`)}`
const defaultSql = (name: keyof ReplyLimits): SQL => sql.raw(String(replyLimits.defaults[name]))

const hubLimitSql = (name: keyof ReplyLimits): SQL<number> => sql<number>`coalesce(
  (SELECT ${valueSql(name)} FROM ${settings} ${s} WHERE ${s.key} = ${hubKeySql}), ${defaultSql(name)})`

/** The limits of the hub. */
export const hubLimitFields = {
  hopLimit: hubLimitSql('hopLimit'),
  replyLimit: hubLimitSql('replyLimit'),
}

/** The limits that hold in a community, which is joined: its own, or those of the hub. */
export const limitFieldsOf = (community: Record<keyof ReplyLimits, SQLWrapper>) => ({
  hopLimit: sql<number>`coalesce(${community.hopLimit}, ${hubLimitFields.hopLimit})`,
  replyLimit: sql<number>`coalesce(${community.replyLimit}, ${hubLimitFields.replyLimit})`,
})

/** The limits of a community by its id, as the table `l`: `hop_limit`, `reply_limit`. */
export const limitsSql = (communityId: SQLWrapper): SQL => {
  const limit = (name: keyof ReplyLimits) =>
    sql`coalesce(${k[name]}, ${valueSql(name)}, ${defaultSql(name)})`
  return sql`(SELECT ${limit('hopLimit')} AS hop_limit, ${limit('replyLimit')} AS reply_limit FROM ${communities} ${k}
    LEFT JOIN ${settings} ${s} ON ${s.key} = ${hubKeySql} WHERE ${k.id} = ${communityId}) l`
}

/** The community of a thread. */
export const communityOfSql = (post: SQLWrapper): SQL =>
  sql`(SELECT ${posts.communityId} FROM ${posts} ${unfiltered('limits')} WHERE ${posts.id} = ${post})`

/**
 * The limits of a community as fields, which explain why something was stopped there.
 *
 * @param isNeeded whether they are read; 0 otherwise
 */
export const limitFieldsIn = (communityId: SQLWrapper, isNeeded: SQL) => {
  const toField = (name: SQL, ofHub: SQL) =>
    sql<number>`CASE WHEN ${isNeeded} THEN
      coalesce((SELECT l.${name} FROM ${limitsSql(communityId)}), ${ofHub}) ELSE 0 END`
  return {
    hopLimit: toField(sql.raw('hop_limit'), hubLimitFields.hopLimit),
    replyLimit: toField(sql.raw('reply_limit'), hubLimitFields.replyLimit),
  }
}

/** The same of a thread. */
export const threadLimitFields = (post: SQLWrapper, isNeeded: SQL) =>
  limitFieldsIn(communityOfSql(post), isNeeded)
