import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import type { AccountId, PostId } from '../../shared/ids'
import { isUntrustedCommentSql } from '../accounts/untrusted-sql'
import { canReadSql } from '../communities/readable-sql'
import type { AccountKind, SearchHit } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { mentions } from '../schema/mentions'
import { posts } from '../schema/posts'
import { searchIndex } from '../schema/search'
import { isCommentShownSql, isPostShownSql } from '../shown-sql'
import type { Reader } from '../viewers/reader'
import { newestSql, planSql } from './plan-sql'
import type { SearchTerms } from './search-terms'
import { SNIPPET_SOURCE_CHARS_MAX, toSnippet } from './to-snippet'

/** Best matches that are checked for questions to agents; bounds the rows read. */
const RANKED_MAX = 1_000

/** Kinds of hits by index. `search_index.rowid` is `seq * 4 + kind`. */
export const hitTypes = [
  'post',
  'comment',
  'account',
  'community',
] as const satisfies SearchHit['type'][]

export interface HitFilter {
  reader: Reader
  terms: SearchTerms
  types: readonly SearchHit['type'][]
  community: string | null
  author: string | null
  exceptPostId: string | null
  /**
   * The agent that searches; null for a person. Its own posts and questions to hosted agents are
   * ranked after everything else, so that a question asked often does not displace its answers.
   */
  demoteQuestionsFor: AccountId | null
  limit: number
  offset: number
}

interface HitValues extends Omit<HitFilter, 'types' | 'terms'> {
  /** JSON list of `SearchWord`. */
  words: string
  isAll: boolean
  /** JSON list of indexes of `hitTypes`. */
  kinds: string
  rankedMax: number
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
const isFoundSql = (row: SQL, v: Params<HitValues>): SQL => sql`
  ${row} & 3 IN (SELECT value FROM json_each(${v.kinds}))
    AND ${isPostShownSql(q)}
    AND ${canReadSql(communityOfHitSql(row), v.reader)}
    AND (${v.community} IS NULL OR coalesce(${p.communityId}, ${q.communityId}) =
      (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${v.community}))
    AND (${v.author} IS NULL OR coalesce(${p.authorId}, ${m.authorId}) =
      (SELECT ${accounts.id} FROM ${accounts} WHERE ${accounts.name} = ${v.author}))
    AND (${v.exceptPostId} IS NULL OR coalesce(${p.id}, ${q.id}, '') <> ${v.exceptPostId})`

const rowid = sql`${searchIndex.rowid}`
const newestRow = sql`newest.row`

/**
 * The best matches that the filters leave, with who wrote them. FTS5 sorts by rank, so the filters run
 * on as many rows as the limit needs. A match in the title weighs four times as much as one in the text.
 */
const foundSql = (v: Params<HitValues>) => sql`
  SELECT * FROM (
    SELECT ${rowid} AS row, -search_index.rank AS score, 0 AS newest_at, 0 AS is_newest, ${documentColumns}
    FROM ${searchIndex} ${documentTablesSql(rowid)}
    WHERE ${searchIndex} MATCH (SELECT ranked FROM plan) AND search_index.rank MATCH 'bm25(4.0, 1.0, 0.0)'
      AND ${isFoundSql(rowid, v)}
    ORDER BY search_index.rank LIMIT ${v.rankedMax})
  UNION ALL
  SELECT newest.row, newest.is_in_title, coalesce(${p.createdAt}, ${m.createdAt},
      iif(newest.row & 3 = 2, (SELECT ${u.createdAt} FROM ${accounts} ${u} WHERE ${u.seq} = newest.row >> 2),
        (SELECT ${h.createdAt} FROM ${communities} ${h} WHERE ${h.seq} = newest.row >> 2))), 1, ${documentColumns}
  FROM newest ${documentTablesSql(newestRow)}
  WHERE ${isFoundSql(newestRow, v)}`

/** One page of them; what the searching agent wrote, and questions to agents, come last. */
const hitsSql = (v: Params<HitValues>) => sql`
  SELECT f.*, ${v.demoteQuestionsFor} IS NOT NULL AND (f.author_id IS ${v.demoteQuestionsFor} OR EXISTS (
      SELECT 1 FROM ${mentions} ${n} CROSS JOIN ${agents} ${g} ON ${g.accountId} = ${n.accountId}
      WHERE ${n.postId} = f.post_id AND ${n.commentId} = coalesce(f.comment_id, ''))) AS is_last
  FROM found f
  ORDER BY is_last, score DESC, newest_at DESC, row DESC LIMIT ${v.limit} OFFSET ${v.offset}`

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

export type HitRow = Omit<RowOf<typeof hitFields>, 'text'> & { snippet: string }

const selectFilteredHits = prepare((v: Params<HitValues>) =>
  manySql(
    hitFields,
    sql`FROM hits h
      LEFT JOIN ${posts} ${p} ON ${p.id} = h.post_id AND ${isPostShownSql(p)}
      LEFT JOIN ${communities} ${k} ON ${k.id} = ${p.communityId}
      LEFT JOIN ${comments} ${m} ON ${m.id} = h.comment_id AND ${isCommentShownSql(m)}
      LEFT JOIN ${accounts} ${a} ON ${a.id} = h.author_id
      LEFT JOIN ${accounts} ${b} ON h.row & 3 = 2 AND ${b.seq} = h.row >> 2
      LEFT JOIN ${communities} ${c} ON h.row & 3 = 3 AND ${c.seq} = h.row >> 2
      ORDER BY h.is_last, h.score DESC, h.newest_at DESC, h.row DESC`,
    sql`WITH ${planSql(v)}, ${newestSql(v)}, found AS MATERIALIZED (${foundSql(v)}), hits AS MATERIALIZED (${hitsSql(v)})`,
  ),
)

/**
 * Selects one page of matches, best first by BM25. The filters apply before the limit; snippets are
 * made only for the rows of the page.
 */
export function selectHits({ types, terms, ...filter }: HitFilter): Statement<HitRow[]> {
  const found = selectFilteredHits({
    ...filter,
    words: JSON.stringify(terms.words),
    isAll: terms.match === 'all',
    kinds: JSON.stringify(types.map((type) => hitTypes.indexOf(type))),
    rankedMax: filter.demoteQuestionsFor === null ? filter.offset + filter.limit : RANKED_MAX,
  })
  const phrases = terms.words.map((word) => word.terms)
  return mapStatement(found, (rows) =>
    rows.map(({ text, ...row }) => ({ ...row, snippet: toSnippet(text, phrases) })),
  )
}
