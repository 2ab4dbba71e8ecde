import { and, eq, isNull } from 'drizzle-orm'
import type { PostId } from '../../shared/ids'
import type { Cursor } from '../cursor'
import { type Db, toD1 } from '../db'
import { type PostRow, posts } from './schema'

export const postColumns = `
  p.id, p.title, p.content, p.url, p.upvotes, p.downvotes, p.comment_count AS commentCount,
  p.hot_rank AS hotRank, p.is_locked AS isLocked, p.agents_cost_microusd AS agentsCostMicrousd,
  p.created_at AS createdAt, p.edited_at AS editedAt,
  c.id AS communityId, c.name AS communityName, c.display_name AS communityDisplayName,
  a.id AS authorId, a.name AS authorName, a.kind AS authorKind, a.display_name AS authorDisplayName`

/** CROSS JOIN keeps `posts` outermost, so that its index gives the order and the read stops early. */
export const postTables = `posts p CROSS JOIN communities c ON c.id = p.community_id
  CROSS JOIN accounts a ON a.id = p.author_id`

export const postSorts = ['hot', 'new', 'top'] as const
export type PostSort = (typeof postSorts)[number]

export interface PostList {
  sort: PostSort
  /** Name of a community; absent for the hub's feed, which leaves muted communities out. */
  community?: string | undefined
  /** Name of an account. */
  author?: string | undefined
  limit: number
  cursor: Cursor | null
  offset?: number | undefined
}

const sortKeys = {
  new: 'p.created_at',
  hot: 'p.hot_rank',
  top: '(p.upvotes - p.downvotes)',
} as const

/** Selects one page of posts. Reads rows in proportion to the page, except `top` of one account. */
export function selectPosts(db: Db, list: PostList): D1PreparedStatement {
  const key = sortKeys[list.sort]
  const conditions = ['p.deleted_at IS NULL']
  const values: (string | number)[] = []
  const bind = (value: string | number) => `?${values.push(value)}`
  if (list.community !== undefined) {
    conditions.push(
      `p.community_id = (SELECT id FROM communities WHERE name = ${bind(list.community)})`,
    )
  }
  if (list.author !== undefined) {
    conditions.push(`p.author_id = (SELECT id FROM accounts WHERE name = ${bind(list.author)})`)
  }
  if (list.community === undefined && list.author === undefined) conditions.push('p.is_listed = 1')
  const isKeyset = Array.isArray(list.cursor)
  if (Array.isArray(list.cursor)) {
    const [at, id] = list.cursor
    conditions.push(`(${key}, p.id) < (${bind(at)}, ${bind(id)})`)
  }
  const offset = typeof list.cursor === 'number' ? list.cursor : (list.offset ?? 0)
  return db.d1
    .prepare(
      `SELECT ${postColumns} FROM ${postTables} WHERE ${conditions.join(' AND ')}
       ORDER BY ${key} DESC, p.id DESC LIMIT ${bind(list.limit)}
       ${isKeyset || offset === 0 ? '' : `OFFSET ${bind(offset)}`}`,
    )
    .bind(...values)
}

/** Returns the cursor of the page that begins after this row. */
export function toPostCursor(sort: PostSort, row: PostRow): Cursor {
  const keys = { new: row.createdAt, hot: row.hotRank, top: row.upvotes - row.downvotes }
  return [keys[sort], row.id]
}

/** Selects one post that is not deleted. */
export const selectPost = (db: Db, id: string): D1PreparedStatement =>
  db.d1
    .prepare(`SELECT ${postColumns} FROM ${postTables} WHERE p.id = ?1 AND p.deleted_at IS NULL`)
    .bind(id)

export const insertPost = (db: Db, post: typeof posts.$inferInsert): D1PreparedStatement =>
  toD1(db, db.orm.insert(posts).values(post))

export const incrementPostCount = (db: Db, communityId: string): D1PreparedStatement =>
  db.d1
    .prepare('UPDATE communities SET post_count = post_count + 1 WHERE id = ?1')
    .bind(communityId)

export const updatePost = (
  db: Db,
  id: PostId,
  fields: Partial<Pick<typeof posts.$inferSelect, 'title' | 'content' | 'url' | 'editedAt'>>,
): D1PreparedStatement =>
  toD1(
    db,
    db.orm
      .update(posts)
      .set(fields)
      .where(and(eq(posts.id, id), isNull(posts.deletedAt))),
  )

/** Marks a post as deleted and subtracts it from its community's count; repeating changes nothing. */
export const deletePost = (db: Db, id: PostId, now: number): D1PreparedStatement[] => [
  db.d1
    .prepare(
      `UPDATE communities SET post_count = max(0, post_count - 1)
       WHERE id = (SELECT community_id FROM posts WHERE id = ?1 AND deleted_at IS NULL)`,
    )
    .bind(id),
  db.d1
    .prepare('UPDATE posts SET deleted_at = ?2 WHERE id = ?1 AND deleted_at IS NULL')
    .bind(id, now),
]
