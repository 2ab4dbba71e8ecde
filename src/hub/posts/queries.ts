import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Fields, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { CommunityId, PostId } from '../../shared/ids'
import { isGuestSql } from '../accounts/guest-sql'
import { canReadSql, unfiltered } from '../communities/readable-sql'
import type { Cursor } from '../cursor'
import { type RenderedText, renderText } from '../markdown/render-markdown'
import { accounts } from '../schema/accounts'
import { communities } from '../schema/communities'
import { posts } from '../schema/posts'
import { type ViewerValues, viewerValues } from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const p = alias(posts, 'p')
const c = alias(communities, 'c')
const a = alias(accounts, 'a')

/** A post with its author and community, in the tables of `postTables`. */
export const postFields = {
  id: p.id,
  title: p.title,
  content: p.content,
  url: p.url,
  upvotes: p.upvotes,
  downvotes: p.downvotes,
  score: number(sql`${p.upvotes} - ${p.downvotes}`),
  commentCount: p.commentCount,
  hotRank: p.hotRank,
  isLocked: p.isLocked,
  agentsCostMicrousd: p.agentsCostMicrousd,
  createdAt: p.createdAt,
  editedAt: p.editedAt,
  communityId: c.id,
  communityName: c.name,
  communityDisplayName: c.displayName,
  authorId: a.id,
  authorName: a.name,
  authorKind: a.kind,
  authorDisplayName: a.displayName,
  isFromGuest: isGuestSql(a),
}

export type PostRow = RowOf<typeof postFields>

/**
 * The tables of `postFields`: posts `p`, communities `c`, accounts `a`. CROSS JOIN keeps `posts`
 * outermost, so that its index gives the order and the read stops early.
 */
export const postTables = sql`${posts} ${p} CROSS JOIN ${communities} ${c} ON ${c.id} = ${p.communityId}
  CROSS JOIN ${accounts} ${a} ON ${a.id} = ${p.authorId}`

export const postSorts = ['hot', 'new', 'top'] as const
export type PostSort = (typeof postSorts)[number]

export interface PostList {
  reader: Reader
  sort: PostSort
  /** Name of a community; absent for the hub's feed, which leaves muted communities out. */
  community?: string | undefined
  /** Name of an account. */
  author?: string | undefined
  limit: number
  cursor: Cursor | null
  offset?: number | undefined
}

/** Each has an index over all listed posts and one by community. */
const sortKeys = {
  new: sql`${p.createdAt}`,
  hot: sql`${p.hotRank}`,
  top: sql`(${p.upvotes} - ${p.downvotes})`,
} as const

interface ListValues extends ViewerValues {
  reader: Reader
  community: string | null
  author: string | null
  /** Sort key and id of the last row of the previous page; unused on the first page. */
  afterKey: number | null
  afterId: string | null
  limit: number
  offset: number
}

/** The conditions of a list that decide which index it reads. */
interface ListShape {
  sort: PostSort
  isOfCommunity: boolean
  isOfAuthor: boolean
  isAfterRow: boolean
}

/**
 * Prepares the lists of posts, so that those of one shape are compiled once. A list reads rows in
 * proportion to its page, except `top` of one account.
 *
 * @param before `viewerCte` when the fields use the viewer
 */
export function preparePostLists<F extends Fields>(
  fields: F,
  before?: (values: Params<ViewerValues>) => SQL,
): (list: PostList, viewer?: ViewerValues) => Statement<RowOf<F>[]> {
  const prepareList = (shape: ListShape) =>
    prepare((values: Params<ListValues>) =>
      manySql(fields, listSql(shape, values), before?.(values)),
    )
  const prepared = new Map<string, ReturnType<typeof prepareList>>()
  return (list, viewer = viewerValues(null, 0)) => {
    const [afterKey, afterId] = Array.isArray(list.cursor) ? list.cursor : [null, null]
    const shape: ListShape = {
      sort: list.sort,
      isOfCommunity: list.community !== undefined,
      isOfAuthor: list.author !== undefined,
      isAfterRow: afterId !== null,
    }
    const key = JSON.stringify(shape)
    const select = prepared.get(key) ?? prepareList(shape)
    prepared.set(key, select)
    return select({
      ...viewer,
      reader: list.reader,
      community: list.community ?? null,
      author: list.author ?? null,
      afterKey,
      afterId,
      limit: list.limit,
      offset: typeof list.cursor === 'number' ? list.cursor : (list.offset ?? 0),
    })
  }
}

function listSql(shape: ListShape, values: Params<ListValues>): SQL {
  const { sort, isOfCommunity, isOfAuthor, isAfterRow } = shape
  const key = sortKeys[sort]
  const conditions = [
    sql`${p.deletedAt} IS NULL AND ${canReadSql(p.communityId, values.reader)}`,
    isOfCommunity &&
      sql`${p.communityId} = (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${values.community})`,
    isOfAuthor &&
      sql`${p.authorId} = (SELECT ${accounts.id} FROM ${accounts} WHERE ${accounts.name} = ${values.author})`,
    !isOfCommunity && !isOfAuthor && sql`${p.isListed} = 1`,
    isAfterRow && sql`(${key}, ${p.id}) < (${values.afterKey}, ${values.afterId})`,
  ].filter((condition) => condition !== false)
  return sql`FROM ${postTables} WHERE ${sql.join(conditions, sql` AND `)}
    ORDER BY ${key} DESC, ${p.id} DESC LIMIT ${values.limit} OFFSET ${values.offset}`
}

const selectPostList = preparePostLists(postFields)

/** Selects one page of posts. */
export const selectPosts = (list: PostList): Statement<PostRow[]> => selectPostList(list)

/** Returns the cursor of the page that begins after this row. */
export function toPostCursor(
  sort: PostSort,
  row: Pick<PostRow, 'id' | 'createdAt' | 'hotRank' | 'score'>,
): Cursor {
  return [{ new: row.createdAt, hot: row.hotRank, top: row.score }[sort], row.id]
}

const preparedPost = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    postFields,
    sql`FROM ${postTables}
      WHERE ${p.id} = ${id} AND ${p.deletedAt} IS NULL AND ${canReadSql(p.communityId, reader)}`,
  ),
)

/** Selects one post that is not deleted and that the reader reads. */
export const selectPost = (id: string, reader: Reader): Statement<PostRow | undefined> =>
  preparedPost({ id, reader })

type NewPost = Pick<
  typeof posts.$inferSelect,
  | 'id'
  | 'communityId'
  | 'authorId'
  | 'title'
  | 'content'
  | 'url'
  | 'hotRank'
  | 'isListed'
  | 'createdAt'
>

const preparedInsertPost = prepare((post: Params<NewPost & RenderedText>) =>
  write(
    orm.insert(posts).values({
      id: post.id,
      communityId: post.communityId,
      authorId: post.authorId,
      title: post.title,
      content: post.content,
      url: post.url,
      hotRank: post.hotRank,
      isListed: post.isListed,
      createdAt: post.createdAt,
      html: post.html,
      htmlVersion: post.htmlVersion,
    }),
  ),
)

/** Inserts a post with its content rendered. */
export const insertPost = (post: NewPost): Statement<void> =>
  preparedInsertPost({ ...post, ...renderText(post.content, 2) })

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

export const updatePost = (
  id: PostId,
  fields: Partial<Pick<typeof posts.$inferSelect, 'title' | 'content' | 'url' | 'editedAt'>>,
): Statement<void> =>
  write(
    orm
      .update(posts)
      .set(fields.content === undefined ? fields : { ...fields, ...renderText(fields.content, 2) })
      .where(and(eq(posts.id, id), isNull(posts.deletedAt))),
  )

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

/** Marks a post as deleted and subtracts it from its community's count; repeating changes nothing. */
export const deletePost = (id: PostId, now: number): Statement<void>[] => [
  decrementPostCount({ id }),
  write(
    orm
      .update(posts)
      .set({ deletedAt: now })
      .where(and(eq(posts.id, id), isNull(posts.deletedAt))),
  ),
]
