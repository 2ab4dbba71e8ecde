import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import { type AccountId, type PostId, uuidV7 } from '../../shared/ids'
import { stripMarkdown } from '../../shared/markdown/strip-markdown'
import type { AccountKind, SearchHit } from '../contract/hub'
import {
  commentThenFields,
  couldReadSql,
  joinCommentThenSql,
  joinPostThenSql,
  postThenFields,
  wasShownSql,
} from '../rules/as-it-was-sql'
import { isUntrustedCommentSql } from '../rules/people-sql'
import { canReadSql } from '../rules/readable-sql'
import { isCommentShownSql, isPostShownSql } from '../rules/shown-sql'
import { accounts } from '../schema/accounts'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { comments, mentions, posts, searchIndex } from '../schema/posts'
import type { Reader } from '../viewers/reader'
import { type SearchTerms, SNIPPET_SOURCE_CHARS_MAX, toSnippet } from './terms'

/** Whether a statement finds what is there, or what was as of a time. */
type Tense = 'now' | 'past'

/** Of a search as of a time. */
interface Then {
  at: SQLWrapper
  /** The first id that is newer. */
  before: SQLWrapper
}

/** Values of a search, as bound. */
interface PlanOperands {
  /** JSON list of `SearchWord`. */
  words: SQLWrapper
  isAll: SQLWrapper
  /** The last word as the beginning of others, or null. */
  prefix: SQLWrapper
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

const filterCommunity = alias(communities, 'filter_community')
const filterAuthor = alias(accounts, 'filter_author')
const closedCommunity = alias(communities, 'closed_community')

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
    SELECT ${closedCommunity.seq} AS seq FROM ${communities} ${closedCommunity} INDEXED BY communities_not_public
    WHERE ${closedCommunity.visibility} <> 'public' AND NOT ${canReadSql(closedCommunity.id, reader)} LIMIT ${CLOSED_MAX}) hidden)`

/** More terms than this that begin with a word are not counted: so many make it a common one. */
const PREFIXED_MAX = sql.raw('50')

/** In how many documents terms stand that begin with a text; more than are ranked if there are too many terms. */
const prefixedDocumentsSql = (prefix: SQL): SQL => sql`(
  SELECT iif(count(*) < ${PREFIXED_MAX}, coalesce(sum(doc), 0), ${CANDIDATES_MAX} + 1) FROM (
    SELECT doc FROM search_index_words WHERE term >= ${prefix} AND term < ${prefix} || char(1114111) LIMIT ${PREFIXED_MAX}))`

/**
 * The words and filters with the number of documents in which each stands; a filter is a word of the column `tags`.
 * The last word of a person's search that nobody wrote is the beginning of others.
 */
const countedSql = (v: PlanOperands): SQL => sql`
  written AS MATERIALIZED (
    SELECT w.value ->> 'phrase' AS phrase, iif(w.key = json_array_length(${v.words}) - 1, ${v.prefix}, NULL) AS prefix,
      (SELECT min(${documentsOf(sql`t.value`)}) FROM json_each(w.value, '$.terms') t) AS documents
    FROM json_each(${v.words}) w),
  asked AS MATERIALIZED (
    SELECT phrase || iif(is_prefix, '*', '') AS phrase, is_prefix,
      iif(is_prefix, ${prefixedDocumentsSql(sql`prefix`)}, documents) AS documents
    FROM (SELECT *, documents = 0 AND prefix IS NOT NULL AS is_prefix FROM written)),
  words AS MATERIALIZED (
    SELECT phrase, documents, is_prefix,
      documents > 0 AND sum(documents) OVER (ORDER BY documents, phrase ROWS UNBOUNDED PRECEDING)
        <= ${CANDIDATES_MAX} AS is_rare,
      documents * 3 > (SELECT coalesce(max(${posts.seq}), 0) FROM ${posts})
        + (SELECT coalesce(max(${comments.seq}), 0) FROM ${comments}) AS is_everywhere
    FROM asked),
  filters AS MATERIALIZED (
    SELECT f.tag, ${documentsOf(sql`f.tag`)} AS documents FROM (
      SELECT ${tagSql('k', sql`(${v.kinds} ->> 0)`)} AS tag WHERE json_array_length(${v.kinds}) = 1
      UNION ALL SELECT ${tagSql('c', sql`coalesce((SELECT ${filterCommunity.seq} FROM ${communities} ${filterCommunity} WHERE ${filterCommunity.name} = ${v.community}), 0)`)}
        WHERE ${v.community} IS NOT NULL
      UNION ALL SELECT ${tagSql('u', sql`coalesce((SELECT ${filterAuthor.seq} FROM ${accounts} ${filterAuthor} WHERE ${filterAuthor.name} = ${v.author}), 0)`)}
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
const planSql = (v: PlanOperands): SQL => sql`${countedSql(v)},
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
const newestSql = (v: PlanOperands & Then, tense: Tense): SQL => sql`
  newest AS MATERIALIZED (
    SELECT r.value AS row, max(place.is_in_title) AS is_in_title
    FROM plan CROSS JOIN json_each(${v.kinds}) kind
      CROSS JOIN (SELECT 'title : ' AS place, 1 AS is_in_title UNION ALL SELECT '', 0) place
      CROSS JOIN json_each((SELECT json_group_array(row) FROM (
        SELECT search_index.rowid AS row FROM search_index
        WHERE search_index MATCH place.place || plan.newest || ' AND "' || ${tagSql('k', sql`kind.value`)} || '"' || plan.not_closed
          ${tense === 'past' ? sql`AND search_index.rowid < ${writtenBeforeSql(sql`kind.value`, v.before)}` : sql``}
        ORDER BY search_index.rowid DESC LIMIT ${NEWEST_MAX}))) r
    WHERE plan.newest IS NOT NULL AND NOT (kind.value = 1 AND place.is_in_title)
    GROUP BY row)`

/**
 * The row of the index before which everything stands that was written until a time. By ids, because they begin
 * with the time and have an index.
 */
const writtenBeforeSql = (
  kind: SQL,
  before: SQLWrapper,
): SQL => sql`4 + 4 * coalesce(iif(${kind} = 0,
  (SELECT ${writtenPost.seq} FROM ${posts} ${writtenPost} WHERE ${writtenPost.id} < ${before}
    ORDER BY ${writtenPost.id} DESC LIMIT 1),
  (SELECT ${writtenComment.seq} FROM ${comments} ${writtenComment} WHERE ${writtenComment.id} < ${before}
    ORDER BY ${writtenComment.id} DESC LIMIT 1)), 0)`

/** Best matches that are checked for questions to agents; bounds the rows read. */
const RANKED_MAX = 1_000

/** So many matches after each other are about equally good: among them decisions come first and questions last. */
const GROUP_SIZE = 20
const groupSize = sql.raw(String(GROUP_SIZE))

const COUNTED_MAX = sql.raw(String(limits.search.countedMax))

/** Kinds of hits by index. `search_index.rowid` is `seq * 4 + kind`. */
export const hitTypes = [
  'post',
  'comment',
  'account',
  'community',
] as const satisfies SearchHit['type'][]

export interface HitScope {
  reader: Reader
  terms: SearchTerms
  community: string | null
  author: string | null
  /** Leaves out what was written before, and accounts and communities; milliseconds since the Unix epoch. */
  since: number | null
  /** Finds posts and comments as of this time, and shows what they said; accounts and communities are left out. */
  at?: number | undefined
}

interface HitFilter extends HitScope {
  types: readonly SearchHit['type'][]
  exceptPostId: string | null
  /**
   * The agent that searches; null for a person. Its own posts and questions to hosted agents are
   * ranked after everything else, so that a question asked often does not displace its answers.
   */
  demoteQuestionsFor: AccountId | null
  limit: number
  offset: number
}

interface PastValues {
  /** 0 for a search of the present. */
  at: number
  before: string
}

interface HitValues extends Omit<HitFilter, 'types' | 'terms' | 'at'>, PastValues {
  /** JSON list of `SearchWord`. */
  words: string
  isAll: boolean
  prefix: string | null
  /** JSON list of indexes of `hitTypes`. */
  kinds: string
  rankedMax: number
}

interface ScopeValues extends Omit<HitScope, 'terms' | 'at'>, PastValues {
  words: string
  isAll: boolean
  prefix: string | null
  kinds: string
  exceptPostId: string | null
}

const p = alias(posts, 'p')
const m = alias(comments, 'm')
/** The post of the comment `m`. */
const q = alias(posts, 'q')
/** A community that was found itself. */
const h = alias(communities, 'hc')
const u = alias(accounts, 'hu')
const n = alias(mentions, 'n')
const g = alias(agents, 'g')
/** The last post and comment that were written until a time. */
const writtenPost = alias(posts, 'written_post')
const writtenComment = alias(comments, 'written_comment')

/** The community of a post or comment, or the one that was found itself; '' for an account. */
const communityOfHitSql = (
  row: SQL,
): SQL => sql`coalesce(${p.communityId}, ${q.communityId}, iif(${row} & 3 = 3,
  (SELECT ${h.id} FROM ${communities} ${h} WHERE ${h.seq} = ${row} >> 2), ''), '')`

/** The rows of a document: of a post, of a comment and its post, or of neither. */
const documentTablesSql = (row: SQL): SQL => sql`
  LEFT JOIN ${posts} ${p} ON ${row} & 3 = 0 AND ${p.seq} = ${row} >> 2
  LEFT JOIN ${comments} ${m} ON ${row} & 3 = 1 AND ${m.seq} = ${row} >> 2
  LEFT JOIN ${posts} ${q} ON ${q.id} = ${m.postId}`

const documentColumns = sql`coalesce(${p.id}, ${q.id}) AS post_id, ${m.id} AS comment_id,
  coalesce(${p.authorId}, ${m.authorId}) AS author_id`

/** Whether the filters leave a document. The words of the column `tags` only make finding it cheap. */
const isFoundSql = (row: SQL, v: Params<ScopeValues>, tense: Tense): SQL => sql`
  ${row} & 3 IN (SELECT value FROM json_each(${v.kinds}))
    AND ${isPostShownSql(q)}
    AND ${canReadSql(communityOfHitSql(row), v.reader)}
    AND (${v.community} IS NULL OR coalesce(${p.communityId}, ${q.communityId}) =
      (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${v.community}))
    AND (${v.author} IS NULL OR coalesce(${p.authorId}, ${m.authorId}) =
      (SELECT ${accounts.id} FROM ${accounts} WHERE ${accounts.name} = ${v.author}))
    AND (${v.since} IS NULL OR coalesce(${p.createdAt}, ${m.createdAt}) >= ${v.since})
    AND (${v.exceptPostId} IS NULL OR coalesce(${p.id}, ${q.id}, '') <> ${v.exceptPostId})
    ${tense === 'past' ? sql`AND ${wasFoundSql(row, v)}` : sql``}`

/** Whether the document was there as of a time, and the reader read it. */
const wasFoundSql = (row: SQL, v: Params<ScopeValues>): SQL => {
  const postId = sql`coalesce(${p.id}, ${q.id})`
  return sql`coalesce(${p.createdAt}, ${m.createdAt}) <= ${v.at}
    AND ${couldReadSql(communityOfHitSql(row), v.reader, v.at)} AND ${wasShownSql({ postId, commentId: null }, v.at)}
    AND (${m.id} IS NULL OR ${wasShownSql({ postId, commentId: sql`${m.id}` }, v.at)})`
}

const rowid = sql`${searchIndex.rowid}`
const newestRow = sql`newest.row`

/** How good a document is beside another one of the same rank: a decision is better than a text, a question worse. */
const weightSql = sql`iif(coalesce(${m.content}, ${p.content}) LIKE '%decided:%', 1.25,
  iif(rtrim(coalesce(${m.content}, ${p.title})) LIKE '%?', 0.8, 1))`

/**
 * The best matches that the filters leave, with who wrote them. FTS5 sorts by rank, so the filters run
 * on as many rows as the limit needs. A match in the title weighs four times as much as one in the text.
 */
const foundSql = (v: Params<HitValues>, forPeople: boolean, tense: Tense) => sql`
  SELECT row, ${forPeople ? sql`(row_number() OVER (ORDER BY score DESC, row DESC) - 1) / ${groupSize}` : sql`0`} AS part,
    score * weight AS score, newest_at, is_newest, post_id, comment_id, author_id FROM (
    SELECT ${rowid} AS row, -search_index.rank AS score, ${forPeople ? weightSql : sql`1`} AS weight, 0 AS newest_at, 0 AS is_newest, ${documentColumns}
    FROM ${searchIndex} ${documentTablesSql(rowid)}
    WHERE ${searchIndex} MATCH (SELECT ranked FROM plan) AND search_index.rank MATCH 'bm25(4.0, 1.0, 0.0)'
      AND ${isFoundSql(rowid, v, tense)}
    ORDER BY search_index.rank LIMIT ${v.rankedMax})
  UNION ALL
  SELECT newest.row, 0, newest.is_in_title, coalesce(${p.createdAt}, ${m.createdAt},
      iif(newest.row & 3 = 2, (SELECT ${u.createdAt} FROM ${accounts} ${u} WHERE ${u.seq} = newest.row >> 2),
        (SELECT ${h.createdAt} FROM ${communities} ${h} WHERE ${h.seq} = newest.row >> 2))), 1, ${documentColumns}
  FROM newest ${documentTablesSql(newestRow)}
  WHERE ${isFoundSql(newestRow, v, tense)}`

/** One page of them; what the searching agent wrote, and questions to agents, come last. */
const hitsSql = (v: Params<HitValues>) => sql`
  SELECT f.*, ${v.demoteQuestionsFor} IS NOT NULL AND (f.author_id IS ${v.demoteQuestionsFor} OR EXISTS (
      SELECT 1 FROM ${mentions} ${n} CROSS JOIN ${agents} ${g} ON ${g.accountId} = ${n.accountId}
      WHERE ${n.postId} = f.post_id AND ${n.commentId} = coalesce(f.comment_id, ''))) AS is_last
  FROM found f
  ORDER BY is_last, part, score DESC, newest_at DESC, row DESC LIMIT ${v.limit} OFFSET ${v.offset}`

const pa = alias(accounts, 'pa')
const a = alias(accounts, 'a')
/** An account or a community that was found itself. */
const b = alias(accounts, 'b')
const c = alias(communities, 'c')
/** The community of the post `p`. */
const k = alias(communities, 'k')

const textOfHit = sql`coalesce(${m.content}, ${p.content}, ${b.description}, ${c.description})`
const SOURCE_CHARS_MAX = sql.raw(String(SNIPPET_SOURCE_CHARS_MAX))

const hitFields = {
  /** Index of `hitTypes`. */
  type: sql<number>`h.row & 3`,
  id: sql<string>`coalesce(h.comment_id, h.post_id, ${b.id}, ${c.id})`,
  title: sql<string>`coalesce(${p.title}, ${b.displayName}, ${b.name}, ${c.displayName})`,
  content: sql<string>`substr(${textOfHit}, 1, 500)`,
  /** What the snippet is made of, as it is indexed. */
  text: sql<string>`substr(trim(coalesce(${b.displayName} || ' ', ${c.displayName} || ' ', '') || ${textOfHit}), 1, ${SOURCE_CHARS_MAX})`,
  score: sql<number>`h.score`,
  /** Whether all words are common, so that the hits are sorted by title and time. */
  isNewest: flag(sql`h.is_newest`),
  /** Whether nobody wrote the last word, so that it is the beginning of words. */
  isPrefix: flag(sql`(SELECT max(is_prefix) FROM words)`),
  createdAt: sql<number>`coalesce(${m.createdAt}, ${p.createdAt}, ${b.createdAt}, ${c.createdAt})`,
  postId: sql<PostId | null>`h.post_id`,
  communityId: sql<string | null>`coalesce(${c.id}, ${k.id})`,
  community: sql<string | null>`coalesce(${c.name}, ${k.name})`,
  communityDisplayName: sql<string | null>`coalesce(${c.displayName}, ${k.displayName})`,
  authorId: sql<AccountId | null>`coalesce(${a.id}, ${b.id})`,
  authorName: sql<string | null>`coalesce(${a.name}, ${b.name})`,
  /** Whether a part of what the hit shows is untrusted text: the text itself, or the title of its post. */
  isUntrusted:
    flag(sql`(coalesce(${b.role} = 'guest', 0) OR ${isUntrustedCommentSql(m, a)} OR coalesce(${p.isUntrusted}, 0)
    OR EXISTS (SELECT 1 FROM ${accounts} ${pa} WHERE ${pa.id} = ${p.authorId} AND ${pa.role} = 'guest')
    OR (${c.createdBy} IS NOT NULL AND EXISTS (SELECT 1 FROM ${accounts} ${pa} WHERE ${pa.id} = ${c.createdBy} AND ${pa.role} = 'guest')))`),
  authorKind: sql<AccountKind | null>`coalesce(${a.kind}, ${b.kind})`,
  authorDisplayName: sql<string | null>`coalesce(${a.displayName}, ${b.displayName})`,
}

export type HitRow = Omit<RowOf<typeof hitFields>, 'text' | 'isPrefix'> & { snippet: string }

/** The fields that differ as of a time: what the post and the comment said. */
function pastHitFields(at: SQLWrapper) {
  const none = sql`NULL`
  const { title, content } = postThenFields(p, none, none, at)
  const text = sql`iif(${m.id} IS NULL, ${content}, ${commentThenFields(m, none, at).content})`
  return {
    ...hitFields,
    title,
    content: sql<string>`substr(${text}, 1, 500)`,
    text: sql<string>`substr(trim(${text}), 1, ${SOURCE_CHARS_MAX})`,
  }
}

const hitsFor = (forPeople: boolean, tense: Tense) => (v: Params<HitValues>) =>
  manySql(
    tense === 'past' ? pastHitFields(v.at) : hitFields,
    sql`FROM hits h
      LEFT JOIN ${posts} ${p} ON ${p.id} = h.post_id AND ${isPostShownSql(p)}
      LEFT JOIN ${communities} ${k} ON ${k.id} = ${p.communityId}
      LEFT JOIN ${comments} ${m} ON ${m.id} = h.comment_id AND ${isCommentShownSql(m)}
      LEFT JOIN ${accounts} ${a} ON ${a.id} = h.author_id
      LEFT JOIN ${accounts} ${b} ON h.row & 3 = 2 AND ${b.seq} = h.row >> 2
      LEFT JOIN ${communities} ${c} ON h.row & 3 = 3 AND ${c.seq} = h.row >> 2
      ${tense === 'past' ? sql`${joinPostThenSql(p, v.at)} ${joinCommentThenSql(m, v.at)}` : sql``}
      ORDER BY h.is_last, h.part, h.score DESC, h.newest_at DESC, h.row DESC`,
    sql`WITH ${planSql(v)}, ${newestSql(v, tense)}, found AS MATERIALIZED (${foundSql(v, forPeople, tense)}), hits AS MATERIALIZED (${hitsSql(v)})`,
  )

const prepareHits = (tense: Tense) => ({
  people: prepare(hitsFor(true, tense)),
  agents: prepare(hitsFor(false, tense)),
})
const preparedHits = { now: prepareHits('now'), past: prepareHits('past') }

/** Sorts before every other id of its millisecond. */
const lowest = new Uint8Array(10)

/** What a search of a tense binds besides its words and filters. */
const toPast = (at: number | undefined): PastValues & { tense: Tense } =>
  at === undefined
    ? { tense: 'now', at: 0, before: '' }
    : { tense: 'past', at, before: uuidV7(at + 1, lowest) }

const kindsOf = (types: readonly SearchHit['type'][]): string =>
  JSON.stringify(types.map((type) => hitTypes.indexOf(type)))

const toValues = ({ words, match, prefix }: SearchTerms) => ({
  words: JSON.stringify(words),
  isAll: match === 'all',
  prefix,
})

/**
 * Selects one page of matches, best first by BM25. The filters apply before the limit; snippets are
 * made only for the rows of the page, for people without markup.
 */
export function selectHits({ types, terms, at, ...filter }: HitFilter): Statement<HitRow[]> {
  const { demoteQuestionsFor, offset, limit } = filter
  const { tense, ...past } = toPast(at)
  // The last one says only whether there are more, so it may be the first of its group.
  const groups = Math.ceil((offset + limit - 1) / GROUP_SIZE)
  const forPeople = demoteQuestionsFor === null
  const found = preparedHits[tense][forPeople ? 'people' : 'agents']({
    ...filter,
    ...past,
    ...toValues(terms),
    kinds: kindsOf(types),
    rankedMax: forPeople ? groups * GROUP_SIZE + 1 : RANKED_MAX,
  })
  const phrases = terms.words.map((word) => word.terms)
  return mapStatement(found, (rows) =>
    rows.map(({ text, isPrefix, ...row }) => ({
      ...row,
      snippet: toSnippet(
        forPeople ? stripMarkdown(text) : text,
        phrases,
        isPrefix ? terms.prefix : null,
      ),
    })),
  )
}

/** How many hits of each kind there are; at least so many if there are more than are counted. */
export type HitCounts = Record<SearchHit['type'], number> & { isPartial: boolean }

const countFields = {
  type: sql<number>`f.row & 3`,
  count: sql<number>`count(*)`,
  /** Whether more than these match: counting ended, or only the newest are looked at. */
  isPartial: flag(sql`sum(count(*)) OVER () > ${COUNTED_MAX} OR max(f.is_newest)`),
}

const prepareCounted = (tense: Tense) =>
  prepare((v: Params<ScopeValues>) =>
    manySql(
      countFields,
      sql`FROM (
        SELECT * FROM (SELECT ${rowid} AS row, 0 AS is_newest FROM ${searchIndex} ${documentTablesSql(rowid)}
          WHERE ${searchIndex} MATCH (SELECT ranked FROM plan) AND ${isFoundSql(rowid, v, tense)} LIMIT ${COUNTED_MAX} + 1)
        UNION ALL SELECT newest.row, 1 FROM newest ${documentTablesSql(newestRow)} WHERE ${isFoundSql(newestRow, v, tense)}) f
      GROUP BY f.row & 3`,
      sql`WITH ${planSql(v)}, ${newestSql(v, tense)}`,
    ),
  )
const preparedCounts = { now: prepareCounted('now'), past: prepareCounted('past') }

/** Counts the hits of each kind. */
export function countHits({ terms, at, ...scope }: HitScope): Statement<HitCounts> {
  const { tense, ...past } = toPast(at)
  const counted = preparedCounts[tense]({
    ...scope,
    ...past,
    ...toValues(terms),
    kinds: kindsOf(hitTypes),
    exceptPostId: null,
  })
  return mapStatement(counted, (rows) => {
    const of = (type: number) => rows.find((row) => row.type === type)?.count ?? 0
    const isPartial = rows.some((row) => row.isPartial)
    return { post: of(0), comment: of(1), account: of(2), community: of(3), isPartial }
  })
}

export function toSearchHit(row: HitRow): SearchHit {
  const { authorId: id, authorName: name, authorKind: kind } = row
  return {
    type: hitTypes[row.type] ?? 'post',
    id: row.id,
    title: row.title,
    snippet: row.snippet,
    author: id && name && kind ? { id, name, kind } : null,
    community: row.community,
    postId: row.postId,
    score: row.score,
    createdAt: row.createdAt,
    ...(row.isNewest && { isNewest: true }),
    ...(row.isUntrusted && { isUntrusted: true }),
  }
}

const knownFields = {
  /** Index of the word. */
  word: sql<number>`t.word`,
  term: sql<string>`t.term`,
  documents: sql<number>`i.doc`,
}

/** Selects which terms the index has, those in the most documents first. @param terms JSON: lists of terms, one for each word */
export const selectKnown = prepare(({ terms }: Params<{ terms: string }>) =>
  manySql(
    knownFields,
    sql`FROM (SELECT w.key AS word, t.value AS term FROM json_each(${terms}) w CROSS JOIN json_each(w.value) t) t
      CROSS JOIN search_index_words i ON i.term = t.term ORDER BY i.doc DESC, t.term`,
  ),
)
