import { and, eq, isNull, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { oneSql, orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertRow, updateSet } from '../../shared/db/write-sql'
import type { CommunityId, PostId } from '../../shared/ids'
import { toSearchColumns } from '../../shared/search-text'
import { canReadSql, unfiltered } from '../communities/readable-sql'
import {
  changeStatements,
  type DeletionRefusal,
  deletionStatements,
} from '../inbox/changed-requests-queries'
import { hasExplorersSql } from '../inbox/news-sql'
import { type IndexedText, renderText } from '../markdown/render-text'
import { communities } from '../schema/communities'
import { posts } from '../schema/posts'
import type { Reader } from '../viewers/reader'

const p = alias(posts, 'p')

const placeFields = {
  id: communities.id,
  name: communities.name,
  displayName: communities.displayName,
  /** Its posts are listed nowhere else. */
  isMuted: communities.isMuted,
  hasExplorers: hasExplorersSql,
}

/** The community of a new post. */
export type PostPlace = RowOf<typeof placeFields>

const preparedPlace = prepare(({ name, reader }: Params<{ name: string; reader: Reader }>) =>
  oneSql(
    placeFields,
    sql`FROM ${communities} WHERE ${communities.name} = ${name} AND ${canReadSql(communities.id, reader)}`,
  ),
)

/** Selects the community of a new post by its name, in any case. */
export const selectPlace = (name: string, reader: Reader): Statement<PostPlace | undefined> =>
  preparedPlace({ name, reader })

type NewPost = Omit<typeof posts.$inferSelect, 'seq' | 'searchTitle' | keyof IndexedText>

const preparedInsertPost = prepare(
  (post: Params<NewPost & IndexedText & { searchTitle: string | null }>) =>
    write(insertRow(posts, post, ['seq'])),
)

/** Inserts a post with its content rendered. */
export const insertPost = (post: NewPost & IndexedText): Statement<void> =>
  preparedInsertPost({ ...post, ...toSearchColumns({ title: post.title }) })

const preparedPostCount = prepare(({ communityId }: Params<{ communityId: CommunityId }>) =>
  write(
    updateSet(
      communities,
      { postCount: sql`${communities.postCount} + 1` },
      sql`WHERE ${communities.id} = ${communityId}`,
    ),
  ),
)

export const incrementPostCount = (communityId: CommunityId): Statement<void> =>
  preparedPostCount({ communityId })

/** Returns the columns of a content that changes; none for one that does not. */
const renderContent = (id: PostId, content: string | undefined): Partial<IndexedText> =>
  content === undefined ? {} : renderText('posts', { id, content }).columns

export const updatePost = (id: PostId, fields: Partial<NewPost>): Statement<void>[] => [
  write(
    orm
      .update(posts)
      .set({
        ...fields,
        ...renderContent(id, fields.content),
        ...toSearchColumns({ title: fields.title }),
      })
      .where(and(eq(posts.id, id), isNull(posts.deletedAt))),
  ),
  changeStatements({ postId: id, commentId: null }),
]

const decrementPostCount = prepare(({ id }: Params<{ id: PostId }>) =>
  write(
    updateSet(
      communities,
      { postCount: sql`max(0, ${communities.postCount} - 1)` },
      sql`WHERE ${communities.id} = (SELECT ${p.communityId} FROM ${posts} ${p} ${unfiltered('counter')}
        WHERE ${p.id} = ${id} AND ${p.deletedAt} IS NULL)`,
    ),
  ),
)

/**
 * Marks a post as deleted, subtracts it from its community's count, and ends what waits for an answer to it; repeating
 * changes nothing.
 */
export const deletePost = (
  id: PostId,
  now: number,
  refusal: DeletionRefusal = 'content_deleted',
): Statement<void>[] => [
  decrementPostCount({ id }),
  write(
    orm
      .update(posts)
      .set({ deletedAt: now })
      .where(and(eq(posts.id, id), isNull(posts.deletedAt))),
  ),
  ...deletionStatements({ postId: id, commentId: null }, { now, refusal }),
]
