import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'
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
import type { Reader } from '../viewers/reader'

/** A match in the title weighs four times as much as one in the text. */
const bm25 = sql`bm25(${searchIndex}, 4.0, 1.0)`
const SNIPPET_TOKENS = sql.raw('32')
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

interface HitValues extends Omit<HitFilter, 'types'> {
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
const n = alias(mentions, 'n')
const g = alias(agents, 'g')

/** The community of a post or comment, or the one that was found itself; '' for an account. */
const communityOfHitSql = sql`coalesce(${p.communityId}, ${q.communityId}, iif(${searchIndex.rowid} & 3 = 3,
  (SELECT ${h.id} FROM ${communities} ${h} WHERE ${h.seq} = ${searchIndex.rowid} >> 2), ''), '')`

/** The best matches that the filters leave, with who wrote them. */
const foundSql = (v: Params<HitValues>) => sql`
  SELECT ${searchIndex.rowid} AS row, -${bm25} AS score, coalesce(${p.id}, ${q.id}) AS post_id,
    ${m.id} AS comment_id, coalesce(${p.authorId}, ${m.authorId}) AS author_id
  FROM ${searchIndex}
  LEFT JOIN ${posts} ${p} ON ${searchIndex.rowid} & 3 = 0 AND ${p.seq} = ${searchIndex.rowid} >> 2
  LEFT JOIN ${comments} ${m} ON ${searchIndex.rowid} & 3 = 1 AND ${m.seq} = ${searchIndex.rowid} >> 2
  LEFT JOIN ${posts} ${q} ON ${q.id} = ${m.postId}
  WHERE ${searchIndex} MATCH ${v.expression}
    AND ${searchIndex.rowid} & 3 IN (SELECT value FROM json_each(${v.kinds}))
    AND ${q.deletedAt} IS NULL
    AND ${canReadSql(communityOfHitSql, v.reader)}
    AND (${v.community} IS NULL OR coalesce(${p.communityId}, ${q.communityId}) =
      (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${v.community}))
    AND (${v.author} IS NULL OR coalesce(${p.authorId}, ${m.authorId}) =
      (SELECT ${accounts.id} FROM ${accounts} WHERE ${accounts.name} = ${v.author}))
    AND (${v.exceptPostId} IS NULL OR coalesce(${p.id}, ${q.id}, '') <> ${v.exceptPostId})
  ORDER BY ${bm25}, ${searchIndex.rowid} DESC LIMIT ${v.rankedMax}`

/** One page of them; what the searching agent wrote, and questions to agents, come last. */
const hitsSql = (v: Params<HitValues>) => sql`
  SELECT f.*, ${v.demoteQuestionsFor} IS NOT NULL AND (f.author_id IS ${v.demoteQuestionsFor} OR EXISTS (
      SELECT 1 FROM ${mentions} ${n} CROSS JOIN ${agents} ${g} ON ${g.accountId} = ${n.accountId}
      WHERE ${n.postId} = f.post_id AND ${n.commentId} = coalesce(f.comment_id, ''))) AS is_last
  FROM found f
  ORDER BY is_last, score DESC, row DESC LIMIT ${v.limit} OFFSET ${v.offset}`

const pa = alias(accounts, 'pa')
const a = alias(accounts, 'a')
/** An account or a community that was found itself. */
const b = alias(accounts, 'b')
const c = alias(communities, 'c')
/** The community of the post `p`. */
const k = alias(communities, 'k')

const hitFields = ({ expression }: Params<HitValues>) => ({
  /** Index of `hitTypes`. */
  type: sql<number>`h.row & 3`,
  id: sql<string>`coalesce(h.comment_id, h.post_id, ${b.id}, ${c.id})`,
  title: sql<string>`coalesce(${p.title}, ${b.displayName}, ${b.name}, ${c.displayName})`,
  content: sql<string>`substr(coalesce(${m.content}, ${p.content}, ${b.description}, ${c.description}), 1, 500)`,
  snippet: sql<string>`(SELECT snippet(${searchIndex}, 1, char(0x2068), char(0x2069), '…', ${SNIPPET_TOKENS})
    FROM ${searchIndex} WHERE ${searchIndex} MATCH ${expression} AND ${searchIndex.rowid} = h.row)`,
  score: sql<number>`h.score`,
  createdAt: sql<number>`coalesce(${m.createdAt}, ${p.createdAt}, ${b.createdAt}, ${c.createdAt})`,
  postId: sql<PostId | null>`h.post_id`,
  community: sql<string | null>`coalesce(${c.name}, ${k.name})`,
  authorId: sql<AccountId | null>`coalesce(${a.id}, ${b.id})`,
  authorName: sql<string | null>`coalesce(${a.name}, ${b.name})`,
  /** Whether a part of what the hit shows is untrusted text: the text itself, or the title of its post. */
  isUntrusted:
    flag(sql`(coalesce(${b.role} = 'guest', 0) OR ${isUntrustedCommentSql(m, a)} OR coalesce(${p.isUntrusted}, 0)
    OR EXISTS (SELECT 1 FROM ${accounts} ${pa} WHERE ${pa.id} = ${p.authorId} AND ${pa.role} = 'guest')
    OR (${c.createdBy} IS NOT NULL AND EXISTS (SELECT 1 FROM ${accounts} ${pa} WHERE ${pa.id} = ${c.createdBy} AND ${pa.role} = 'guest')))`),
  authorKind: sql<AccountKind | null>`coalesce(${a.kind}, ${b.kind})`,
  authorDisplayName: sql<string | null>`coalesce(${a.displayName}, ${b.displayName})`,
})

export type HitRow = RowOf<ReturnType<typeof hitFields>>

const selectFilteredHits = prepare((v: Params<HitValues>) =>
  manySql(
    hitFields(v),
    sql`FROM hits h
      LEFT JOIN ${posts} ${p} ON ${p.id} = h.post_id
      LEFT JOIN ${communities} ${k} ON ${k.id} = ${p.communityId}
      LEFT JOIN ${comments} ${m} ON ${m.id} = h.comment_id
      LEFT JOIN ${accounts} ${a} ON ${a.id} = h.author_id
      LEFT JOIN ${accounts} ${b} ON h.row & 3 = 2 AND ${b.seq} = h.row >> 2
      LEFT JOIN ${communities} ${c} ON h.row & 3 = 3 AND ${c.seq} = h.row >> 2
      ORDER BY h.is_last, h.score DESC, h.row DESC`,
    sql`WITH found AS MATERIALIZED (${foundSql(v)}), hits AS MATERIALIZED (${hitsSql(v)})`,
  ),
)

/**
 * Selects one page of matches, best first by BM25. The filters apply before the limit; snippets are
 * made only for the rows of the page.
 */
export const selectHits = ({ types, ...filter }: HitFilter): Statement<HitRow[]> =>
  selectFilteredHits({
    ...filter,
    kinds: JSON.stringify(types.map((type) => hitTypes.indexOf(type))),
    rankedMax: filter.demoteQuestionsFor === null ? filter.offset + filter.limit : RANKED_MAX,
  })
