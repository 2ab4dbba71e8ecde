import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { canReadSql } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { posts } from '../schema/posts'

/** Values of a search, as bound. */
export interface PlanOperands {
  /** JSON list of `SearchWord`. */
  words: SQLWrapper
  isAll: SQLWrapper
  /** JSON list of indexes of `hitTypes`. */
  kinds: SQLWrapper
  /** Names, or null. */
  community: SQLWrapper
  author: SQLWrapper
  /** A `Reader`. */
  reader: SQLWrapper
}

/** More documents than this are not ranked for a search. */
const CANDIDATES_MAX = sql.raw(String(limits.search.candidatesMax))

const c = alias(communities, 'filter_community')
const a = alias(accounts, 'filter_author')
const k = alias(communities, 'closed_community')

/** Communities that are taken out of the newest documents by their tag, so that their texts displace no others. */
const CLOSED_MAX = sql.raw('100')

/** A word of the column `tags`: its letter, and the number of the kind, community or author. */
const tagSql = (letter: 'k' | 'c' | 'u', value: SQLWrapper | number): SQL =>
  sql`char(57344) || ${sql.raw(`'${letter}'`)} || ${typeof value === 'number' ? sql.raw(String(value)) : value}`

const documentsOf = (term: SQL): SQL =>
  sql`coalesce((SELECT doc FROM search_index_words WHERE term = ${term}), 0)`

/** The end of an FTS5 query that leaves out communities that the reader does not read; null if there are none. */
const notClosedSql = (reader: SQLWrapper): SQL => sql`(
  SELECT ' NOT (' || group_concat('"' || ${tagSql('c', sql`hidden.seq`)} || '"', ' OR ') || ')' FROM (
    SELECT ${k.seq} AS seq FROM ${communities} ${k} INDEXED BY communities_not_public
    WHERE ${k.visibility} <> 'public' AND NOT ${canReadSql(k.id, reader)} LIMIT ${CLOSED_MAX}) hidden)`

/** The words and filters with the number of documents in which each stands; a filter is a word of the column `tags`. */
const countedSql = (v: PlanOperands): SQL => sql`
  asked AS MATERIALIZED (
    SELECT w.value ->> 'phrase' AS phrase,
      (SELECT min(${documentsOf(sql`t.value`)}) FROM json_each(w.value, '$.terms') t) AS documents
    FROM json_each(${v.words}) w),
  words AS MATERIALIZED (
    SELECT phrase, documents,
      documents > 0 AND sum(documents) OVER (ORDER BY documents, phrase ROWS UNBOUNDED PRECEDING)
        <= ${CANDIDATES_MAX} AS is_rare,
      documents * 2 > (SELECT coalesce(max(${posts.seq}), 0) FROM ${posts})
        + (SELECT coalesce(max(${comments.seq}), 0) FROM ${comments}) AS is_everywhere
    FROM asked),
  filters AS MATERIALIZED (
    SELECT f.tag, ${documentsOf(sql`f.tag`)} AS documents FROM (
      SELECT ${tagSql('k', sql`(${v.kinds} ->> 0)`)} AS tag WHERE json_array_length(${v.kinds}) = 1
      UNION ALL SELECT ${tagSql('c', sql`coalesce((SELECT ${c.seq} FROM ${communities} ${c} WHERE ${c.name} = ${v.community}), 0)`)}
        WHERE ${v.community} IS NOT NULL
      UNION ALL SELECT ${tagSql('u', sql`coalesce((SELECT ${a.seq} FROM ${accounts} ${a} WHERE ${a.name} = ${v.author}), 0)`)}
        WHERE ${v.author} IS NOT NULL) f)`

/**
 * Common table expressions that end in `plan`, with two FTS5 queries of which one matches nothing, and `not_closed`, the end of the second:
 *
 * - `ranked`: the rarest words, or a filter, choose at most `candidatesMax` documents, and all words
 *   rank these. A word in most documents would not change the ranks, so it is left out where it need not occur.
 * - `newest`: every word is common. Ranking all its matches would take about 1 us for each, for ranks that say little.
 *
 * A word without a document frequency never chooses: it may be one that `toTerms` gets wrong.
 */
export const planSql = (v: PlanOperands): SQL => sql`${countedSql(v)},
  parts AS MATERIALIZED (
    SELECT coalesce((SELECT min(documents) FROM filters) <= ${CANDIDATES_MAX}, 0) AS is_narrow,
      EXISTS (SELECT 1 FROM words WHERE is_rare) AS has_rare,
      (SELECT coalesce(' AND ' || group_concat('"' || tag || '"', ' AND '), '') FROM filters) AS filters,
      '(' || (SELECT group_concat(phrase, iif(${v.isAll}, ' AND ', ' OR ')) FROM words) || ')' AS every,
      (SELECT group_concat(phrase, ' OR ') FROM words WHERE is_rare) AS rare,
      (SELECT group_concat(phrase, ' OR ') FROM words WHERE NOT is_rare AND NOT is_everywhere) AS common),
  plan AS MATERIALIZED (
    SELECT iif(is_narrow OR (${v.isAll} AND has_rare), every || filters,
        iif(has_rare, '(' || rare || ')' || coalesce(' AND (' || rare || ' OR ' || common || ')', '') || filters, '""'))
        AS ranked,
      iif(is_narrow OR has_rare, NULL, every || filters) AS newest,
      iif(is_narrow OR has_rare, '', coalesce(${notClosedSql(v.reader)}, '')) AS not_closed
    FROM parts)`

/** The newest documents of one kind that match `plan.newest`, those that match in their title first. */
const newestOfKindSql = (kind: number, v: PlanOperands): SQL => {
  const isAsked = sql`${sql.raw(String(kind))} IN (SELECT value FROM json_each(${v.kinds}))`
  const branch = (isInTitle: 0 | 1) => sql`SELECT * FROM (
    SELECT search_index.rowid AS row, ${sql.raw(String(isInTitle))} AS is_in_title FROM search_index
    WHERE search_index MATCH (SELECT coalesce(iif(${isAsked}, ${sql.raw(isInTitle ? "'title : '" : "''")} || newest
      || ' AND "' || ${tagSql('k', kind)} || '"' || not_closed, NULL), '""') FROM plan)
    ORDER BY search_index.rowid DESC LIMIT ${sql.raw(String(limits.search.newestMax))})`
  return sql`newest_${sql.raw(String(kind))} AS MATERIALIZED (${branch(1)} UNION ALL ${branch(0)})`
}

/** Common table expressions that end in `newest` (row, is_in_title): what `plan.newest` finds. D1 allows five SELECTs in a UNION. */
export const newestSql = (v: PlanOperands): SQL => {
  const kinds = [0, 1, 2, 3]
  const parts = kinds.map((kind) => newestOfKindSql(kind, v))
  const union = sql.raw(kinds.map((kind) => `SELECT * FROM newest_${kind}`).join(' UNION ALL '))
  return sql`${sql.join(parts, sql`, `)},
    newest AS MATERIALIZED (SELECT row, max(is_in_title) AS is_in_title FROM (${union}) GROUP BY row)`
}
