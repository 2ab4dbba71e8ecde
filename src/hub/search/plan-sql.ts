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
const NEWEST_MAX = sql.raw(String(limits.search.newestMax))

const c = alias(communities, 'filter_community')
const a = alias(accounts, 'filter_author')
const k = alias(communities, 'closed_community')

/** Communities that are taken out of the newest documents by their tag, so that their texts displace no others. */
const CLOSED_MAX = sql.raw('100')

/** A word of the column `tags`: its letter, and the number of the kind, community or author. */
const tagSql = (letter: 'k' | 'c' | 'u', value: SQLWrapper): SQL =>
  sql`char(5853) || ${sql.raw(`'${letter}'`)} || ${value}`

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
      documents * 3 > (SELECT coalesce(max(${posts.seq}), 0) FROM ${posts})
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
 * Common table expressions that end in `plan`, with two FTS5 queries of which one matches nothing, and
 * `not_closed`, the end of the second:
 *
 * - `ranked`: the rarest words, or a filter, choose at most `candidatesMax` documents, and all words
 *   rank these. A word in a third of the documents changes the ranks little, so it is left out where it need not occur.
 *   The rare words stand in the query twice, so the others do too: every occurrence counts.
 * - `newest`: every word is common. Ranking all its matches would take about 1 us for each, for ranks that say little.
 *
 * A word without a document frequency never chooses: it may be one that `toTerms` gets wrong. SQLite
 * parses an expression again wherever it is named, so each is named once or twice.
 */
export const planSql = (v: PlanOperands): SQL => sql`${countedSql(v)},
  parts AS MATERIALIZED (
    SELECT '(' || w.every || ')' || coalesce(' AND ' || f.every, '') AS every, coalesce(' AND ' || f.every, '') AS filters,
      w.rare, w.common, w.rare IS NOT NULL AS has_rare, coalesce(f.least <= ${CANDIDATES_MAX}, 0) AS is_narrow
    FROM (SELECT group_concat(phrase, iif(${v.isAll}, ' AND ', ' OR ')) AS every,
        group_concat(phrase, ' OR ') FILTER (WHERE is_rare) AS rare,
        group_concat(phrase, ' OR ') FILTER (WHERE NOT is_rare AND NOT is_everywhere) AS common FROM words) w
      CROSS JOIN (SELECT group_concat('"' || tag || '"', ' AND ') AS every, min(documents) AS least FROM filters) f),
  plan AS MATERIALIZED (
    SELECT iif(is_narrow OR (${v.isAll} AND has_rare), every,
        iif(has_rare, '(' || rare || ')' || coalesce(' AND (' || rare || ' OR ' || common || ' OR ' || common || ')', '') || filters, '""'))
        AS ranked,
      iif(is_narrow OR has_rare, NULL, every) AS newest,
      iif(is_narrow OR has_rare, '', coalesce(${notClosedSql(v.reader)}, '')) AS not_closed
    FROM parts)`

/**
 * A common table expression `newest` (row, is_in_title): what `plan.newest` finds. It is the newest documents
 * of each kind that match, and those that match in their title, which comments have not.
 */
export const newestSql = (v: PlanOperands): SQL => sql`
  newest AS MATERIALIZED (
    SELECT r.value AS row, max(place.is_in_title) AS is_in_title
    FROM plan CROSS JOIN json_each(${v.kinds}) kind
      CROSS JOIN (SELECT 'title : ' AS place, 1 AS is_in_title UNION ALL SELECT '', 0) place
      CROSS JOIN json_each((SELECT json_group_array(row) FROM (
        SELECT search_index.rowid AS row FROM search_index
        WHERE search_index MATCH place.place || plan.newest || ' AND "' || ${tagSql('k', sql`kind.value`)} || '"' || plan.not_closed
        ORDER BY search_index.rowid DESC LIMIT ${NEWEST_MAX}))) r
    WHERE plan.newest IS NOT NULL AND NOT (kind.value = 1 AND place.is_in_title)
    GROUP BY row)`
