import type { Db } from '../db'
import type { SourceComment } from './read-comments'
import type { SourcePost } from './read-record'

export interface ExistingRecords {
  accounts: { id: string; name: string; isImported: number }[]
  communities: { name: string }[]
  posts: { id: string }[]
  comments: { id: string }[]
}

/** Selects the records of a group that already exist, in the order of the result type's fields. */
export const selectExisting = (
  db: Db,
  ids: {
    accounts: string[]
    names: string[]
    communities: string[]
    posts: string[]
    comments: string[]
  },
): D1PreparedStatement[] => [
  db.d1
    .prepare(
      `SELECT id, name, is_imported AS isImported FROM accounts
       WHERE id IN (SELECT value FROM json_each(?1)) OR name IN (SELECT value FROM json_each(?2))`,
    )
    .bind(JSON.stringify(ids.accounts), JSON.stringify(ids.names)),
  db.d1
    .prepare('SELECT name FROM communities WHERE name IN (SELECT value FROM json_each(?1))')
    .bind(JSON.stringify(ids.communities)),
  db.d1
    .prepare('SELECT id FROM posts WHERE id IN (SELECT value FROM json_each(?1))')
    .bind(JSON.stringify(ids.posts)),
  db.d1
    .prepare('SELECT id FROM comments WHERE id IN (SELECT value FROM json_each(?1))')
    .bind(JSON.stringify(ids.comments)),
]

export const insertCommunities = (
  db: Db,
  rows: { id: string; name: string; displayName: string; description: string; createdAt: number }[],
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT OR IGNORE INTO communities (id, name, display_name, description, created_at)
       SELECT value ->> 'id', value ->> 'name', value ->> 'displayName', value ->> 'description', value ->> 'createdAt'
       FROM json_each(?1)`,
    )
    .bind(JSON.stringify(rows))

export interface NewAuthor {
  id: string
  name: string
  displayName: string
  description: string
  karma: number
  createdAt: number
}

/** Inserts accounts of imported authors. They have no key, so nobody can sign in as them. */
export const insertAuthors = (db: Db, rows: NewAuthor[]): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT OR IGNORE INTO accounts (id, name, kind, display_name, description, karma, is_imported, created_at)
       SELECT value ->> 'id', value ->> 'name', 'agent', value ->> 'displayName', value ->> 'description',
              value ->> 'karma', 1, value ->> 'createdAt'
       FROM json_each(?1)`,
    )
    .bind(JSON.stringify(rows))

export type NewPost = Omit<SourcePost, 'author' | 'community'> & {
  community: string
  authorId: string
}

export const insertPosts = (db: Db, rows: NewPost[]): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT OR IGNORE INTO posts (id, community_id, author_id, title, content, url, upvotes, downvotes,
         hot_rank, is_listed, is_locked, created_at)
       SELECT j.value ->> 'id', c.id, j.value ->> 'authorId', j.value ->> 'title', j.value ->> 'content',
              j.value ->> 'url', j.value ->> 'upvotes', j.value ->> 'downvotes', j.value ->> 'hotRank',
              1 - c.is_muted, j.value ->> 'isLocked', j.value ->> 'createdAt'
       FROM json_each(?1) j CROSS JOIN communities c ON c.name = j.value ->> 'community'`,
    )
    .bind(JSON.stringify(rows))

export type NewComment = Omit<SourceComment, 'author' | 'isDeleted'> & {
  authorId: string
  deletedAt: number | null
}

/** Inserts comments; `rows` must list parents before their replies. */
export const insertComments = (db: Db, rows: NewComment[]): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT OR IGNORE INTO comments (id, post_id, parent_id, author_id, content, depth, upvotes, downvotes,
         created_at, deleted_at)
       SELECT value ->> 'id', value ->> 'postId', value ->> 'parentId', value ->> 'authorId', value ->> 'content',
              value ->> 'depth', value ->> 'upvotes', value ->> 'downvotes', value ->> 'createdAt', value ->> 'deletedAt'
       FROM json_each(?1) ORDER BY key`,
    )
    .bind(JSON.stringify(rows))

/** Updates the counters of the given posts and communities. */
export const updateCounters = (
  db: Db,
  postIds: string[],
  communities: string[],
): D1PreparedStatement[] => [
  db.d1
    .prepare(
      `UPDATE posts SET comment_count =
         (SELECT count(*) FROM comments c WHERE c.post_id = posts.id AND c.deleted_at IS NULL)
       WHERE id IN (SELECT value FROM json_each(?1))`,
    )
    .bind(JSON.stringify(postIds)),
  db.d1
    .prepare(
      `UPDATE communities SET post_count =
         (SELECT count(*) FROM posts p WHERE p.community_id = communities.id AND p.deleted_at IS NULL)
       WHERE name IN (SELECT value FROM json_each(?1))`,
    )
    .bind(JSON.stringify(communities)),
]
