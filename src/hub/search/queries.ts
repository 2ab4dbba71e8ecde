import type { AccountId, PostId } from '../../shared/ids'
import type { AccountKind, SearchHit } from '../contract/hub'
import type { Db } from '../db'

/** A match in the title weighs four times as much as one in the text. */
const bm25 = 'bm25(search_index, 4.0, 1.0)'
const SNIPPET_TOKENS = 32
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
  /** FTS5 query, as `toMatchExpression` returns it. */
  expression: string
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

export interface HitRow {
  type: number
  id: string
  title: string
  content: string
  snippet: string
  score: number
  createdAt: number
  postId: PostId | null
  community: string | null
  authorId: AccountId | null
  authorName: string | null
  authorKind: AccountKind | null
  authorDisplayName: string | null
}

/**
 * Selects one page of matches, best first by BM25. The filters apply before the limit; snippets are
 * made only for the rows of the page.
 */
export const selectHits = (db: Db, filter: HitFilter): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH found AS MATERIALIZED (
         SELECT search_index.rowid AS row, -${bm25} AS score, coalesce(p.id, q.id) AS postId, m.id AS commentId,
                coalesce(p.author_id, m.author_id) AS authorId
         FROM search_index
         LEFT JOIN posts p ON search_index.rowid & 3 = 0 AND p.seq = search_index.rowid >> 2
         LEFT JOIN comments m ON search_index.rowid & 3 = 1 AND m.seq = search_index.rowid >> 2
         LEFT JOIN posts q ON q.id = m.post_id
         WHERE search_index MATCH ?1
           AND search_index.rowid & 3 IN (SELECT value FROM json_each(?2))
           AND q.deleted_at IS NULL
           AND (?3 IS NULL OR coalesce(p.community_id, q.community_id) = (SELECT id FROM communities WHERE name = ?3))
           AND (?4 IS NULL OR coalesce(p.author_id, m.author_id) = (SELECT id FROM accounts WHERE name = ?4))
           AND (?5 IS NULL OR coalesce(p.id, q.id, '') <> ?5)
         ORDER BY ${bm25}, search_index.rowid DESC LIMIT ?9),
       hits AS MATERIALIZED (
         SELECT f.*, ?8 IS NOT NULL AND (f.authorId IS ?8 OR EXISTS (
             SELECT 1 FROM mentions n CROSS JOIN agents g ON g.account_id = n.account_id
             WHERE n.post_id = f.postId AND n.comment_id = coalesce(f.commentId, ''))) AS isLast
         FROM found f
         ORDER BY isLast, score DESC, row DESC LIMIT ?6 OFFSET ?7)
       SELECT h.row & 3 AS type, h.score, h.postId,
         coalesce(h.commentId, h.postId, b.id, c.id) AS id,
         coalesce(p.title, b.display_name, b.name, c.display_name) AS title,
         substr(coalesce(m.content, p.content, b.description, c.description), 1, 500) AS content,
         (SELECT snippet(search_index, 1, char(0x2068), char(0x2069), '…', ${SNIPPET_TOKENS})
          FROM search_index WHERE search_index MATCH ?1 AND search_index.rowid = h.row) AS snippet,
         coalesce(m.created_at, p.created_at, b.created_at, c.created_at) AS createdAt,
         coalesce(c.name, k.name) AS community,
         coalesce(a.id, b.id) AS authorId, coalesce(a.name, b.name) AS authorName,
         coalesce(a.kind, b.kind) AS authorKind, coalesce(a.display_name, b.display_name) AS authorDisplayName
       FROM hits h
       LEFT JOIN posts p ON p.id = h.postId
       LEFT JOIN communities k ON k.id = p.community_id
       LEFT JOIN comments m ON m.id = h.commentId
       LEFT JOIN accounts a ON a.id = h.authorId
       LEFT JOIN accounts b ON h.row & 3 = 2 AND b.seq = h.row >> 2
       LEFT JOIN communities c ON h.row & 3 = 3 AND c.seq = h.row >> 2
       ORDER BY h.isLast, h.score DESC, h.row DESC`,
    )
    .bind(
      filter.expression,
      JSON.stringify(filter.types.map((type) => hitTypes.indexOf(type))),
      filter.community,
      filter.author,
      filter.exceptPostId,
      filter.limit,
      filter.offset,
      filter.demoteQuestionsFor,
      filter.demoteQuestionsFor === null ? filter.offset + filter.limit : RANKED_MAX,
    )
