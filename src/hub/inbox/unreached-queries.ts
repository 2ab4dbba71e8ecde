import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { CommentId, PostId } from '../../shared/ids'
import { isAccountDisabledSql, isStoppedAccountSql } from '../bans/ban-sql'
import { canAccountReadSql, canReadSql, readersSql } from '../communities/readable-sql'
import { mentionedSql } from '../mentions/queries'
import { unreadableRefusal } from '../reply-limits/explain-reply-limit'
import { limitFieldsIn } from '../reply-limits/limits-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import type { Reader } from '../viewers/reader'
import { isHubPausedSql } from './waiting-sql'

/** The mentions of a stored post or comment. */
export interface MentionedNames {
  postId: PostId
  /** Null for the post itself. */
  commentId: CommentId | null
  /** Names that the text mentions, in lower case and in their order. */
  names: readonly string[]
  /** Has to read the text, and its author has to be among those who read. */
  reader: Reader
  now: number
}

type Values = Params<Omit<MentionedNames, 'names'> & { names: string }>

const a = alias(accounts, 'a')
const b = alias(accounts, 'b')
const c = alias(comments, 'c')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
const p = alias(posts, 'p')

/** The text: `author_id`, `at`, `community_id`. */
const textSql = ({ postId, commentId, reader }: Values): SQL => sql`
  SELECT coalesce(${c.authorId}, ${p.authorId}) AS author_id, coalesce(${c.createdAt}, ${p.createdAt}) AS at,
    ${p.communityId} AS community_id
  FROM ${posts} ${p} LEFT JOIN ${comments} ${c} ON ${c.id} = ${commentId} AND ${c.postId} = ${p.id}
  WHERE ${p.id} = ${postId} AND (${commentId} IS NULL OR ${c.id} IS NOT NULL) AND ${canReadSql(p.communityId, reader)}
    AND coalesce(${c.authorId}, ${p.authorId}) IN (SELECT r.id FROM ${readersSql(reader)} r)`

/**
 * Why a name reached nobody; NULL when its account was notified or woken. A refusal that delivery stored stands
 * before what holds an agent back now.
 */
const causeSql = (v: Values): SQL<string> => sql<string>`CASE
  WHEN ${a.id} IS NULL THEN 'unknown'
  WHEN ${a.kind} = 'system' THEN 'system'
  WHEN ${a.id} = text.author_id THEN 'self'
  WHEN ${a.id} NOT IN (SELECT account_id FROM (${mentionedSql(v.names)})) THEN 'too_many'
  WHEN ${a.isImported} = 1 THEN 'imported'
  WHEN NOT ${canAccountReadSql(sql`text.community_id`, a)} THEN ${sql.raw(`'${unreadableRefusal}'`)}
  WHEN ${g.accountId} IS NULL THEN iif(${isAccountDisabledSql(a)}, 'stopped', NULL)
  WHEN ${i.refusal} IS NOT NULL THEN ${i.refusal}
  WHEN ${g.answersMentions} = 0 THEN 'mentions_off'
  WHEN ${isStoppedAccountSql(a, v.now)} THEN 'stopped'
  WHEN ${isHubPausedSql} THEN 'hub_paused'
  WHEN ${g.isPaused} = 1 THEN 'paused' END`

const unreachedCte = (v: Values): SQL => sql`WITH
  text AS MATERIALIZED (${textSql(v)}),
  unreached AS MATERIALIZED (
    SELECT n.key AS nth, n.value AS name, text.community_id, ${causeSql(v)} AS cause
    FROM text CROSS JOIN json_each(${v.names}) n LEFT JOIN ${accounts} ${a} ON ${a.name} = n.value
      LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${inboxItems} ${i} ON ${i.accountId} = ${a.id} AND ${i.createdAt} = text.at
        AND ${i.postId} = ${v.postId} AND ${i.commentId} IS ${v.commentId} AND ${i.type} = 'mention')`

/** Whether an account is worth being named to somebody who misspelt a name. */
const isSuggestedSql = sql`${b.kind} <> 'system' AND ${b.isImported} = 0 AND ${b.disabledAt} IS NULL AND ${b.deletedAt} IS NULL`

const neighbours = sql.raw('6')
const suggestedAgents = sql.raw('50')

/** Accounts whose names begin like an unknown one, and agents of this hub, as a JSON list. Accounts are public on a hub. */
const similarSql = (name: SQLWrapper): SQL<string> => {
  const next = (order: SQL) =>
    sql`SELECT * FROM (SELECT ${b.name}, ${b.kind}, ${b.isImported}, ${b.disabledAt}, ${b.deletedAt} FROM ${accounts} ${b} WHERE ${order} LIMIT ${neighbours})`
  return sql<string>`(SELECT json_group_array(name) FROM (
    SELECT ${b.name} FROM ${agents} ${g} CROSS JOIN ${accounts} ${b} ON ${b.id} = ${g.accountId}
      WHERE ${g.accountId} IN (SELECT account_id FROM ${agents} ORDER BY name LIMIT ${suggestedAgents}) AND ${isSuggestedSql}
    UNION SELECT ${b.name} FROM (${next(sql`${b.name} > ${name} ORDER BY ${b.name}`)}) ${b} WHERE ${isSuggestedSql}
    UNION SELECT ${b.name} FROM (${next(sql`${b.name} < ${name} ORDER BY ${b.name} DESC`)}) ${b} WHERE ${isSuggestedSql}))`
}

const isRefusedSql = sql`t.cause NOT IN ('unknown', 'system', 'self', 'too_many', 'imported')`

const unreachedFields = {
  name: sql<string>`t.name`,
  /** A refusal that delivery stored, or a key of `unreachedReasons`. */
  cause: sql<string>`t.cause`,
  /** Of the community, for a refusal by a reply limit. */
  limits: limitFieldsIn(sql`t.community_id`, isRefusedSql),
  /** JSON list of names that an unknown one can mean. */
  similar: sql<string>`CASE WHEN t.cause = 'unknown' THEN ${similarSql(sql`t.name`)} ELSE '[]' END`,
}

/** A mentioned name that reached nobody. */
export type UnreachedName = RowOf<typeof unreachedFields>

const preparedUnreached = prepare((v: Values) =>
  manySql(
    unreachedFields,
    sql`FROM unreached t WHERE t.cause IS NOT NULL ORDER BY t.nth`,
    unreachedCte(v),
  ),
)

/**
 * Selects the mentioned names of a text that notified nobody and woke no agent, in their order; of its first
 * `limits.unreachedNamesMax` names. Put it after the statements that insert the text and its inbox items.
 */
export const selectUnreached = ({ names, ...text }: MentionedNames): Statement<UnreachedName[]> =>
  preparedUnreached({ ...text, names: JSON.stringify(names.slice(0, limits.unreachedNamesMax)) })
