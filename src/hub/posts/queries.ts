import { getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Cursor } from '../../shared/cursor'
import { type Fields, flag, number, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { ActivationId } from '../../shared/ids'
import { omit } from '../../shared/omit'
import { isUntrustedPostSql } from '../accounts/untrusted-sql'
import type { CommunityRow } from '../communities/queries'
import { canReadSql } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { moderationActions } from '../schema/moderation'
import { posts } from '../schema/posts'
import { hasPageSql, isPostShownSql } from '../shown-sql'
import { type ViewerValues, viewerCte, viewerValues } from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import {
  firstPostsSql,
  followedCandidatesSql,
  type PostColumns,
  risingCandidatesSql,
  risingSql,
} from './candidate-sql'

const p = alias(posts, 'p')
const c = alias(communities, 'c')
const a = alias(accounts, 'a')
const x = alias(activations, 'x')
const r = alias(moderationActions, 'removal')

/**
 * A post with its author and community, in the tables of `postTables`. Every select of posts has these
 * fields: those of the table but its HTML, which only pages read, and what readers do not see.
 */
export const postFields = {
  ...omit(getTableColumns(p), [
    'seq',
    'isListed',
    'deletedAt',
    'hops',
    'html',
    'htmlVersion',
    'searchTitle',
    'searchContent',
    'pinnedAt',
    'removalId',
  ]),
  score: number(sql`${p.upvotes} - ${p.downvotes}`),
  communityName: c.name,
  communityDisplayName: c.displayName,
  authorName: a.name,
  authorKind: a.kind,
  authorDisplayName: a.displayName,
  isUntrusted: isUntrustedPostSql(p, a),
  isPinned: flag(sql`${p.pinnedAt} IS NOT NULL`),
  /** Why a moderator removed it; null for any other post. */
  removalReason: sql<
    string | null
  >`(SELECT ${r.reason} FROM ${moderationActions} ${r} WHERE ${r.id} = ${p.removalId})`,
}

export type PostRow = RowOf<typeof postFields>

/**
 * The tables of `postFields`: posts `p`, communities `c`, accounts `a`. CROSS JOIN keeps `posts`
 * outermost, so that its index gives the order and the read stops early.
 */
export const postTables = sql`${posts} ${p} CROSS JOIN ${communities} ${c} ON ${c.id} = ${p.communityId}
  CROSS JOIN ${accounts} ${a} ON ${a.id} = ${p.authorId}`

export const postSorts = ['hot', 'new', 'top', 'rising'] as const
export type PostSort = (typeof postSorts)[number]

export interface PostList {
  reader: Reader
  sort: PostSort
  /** Name of a community; absent for the hub's feed, which leaves muted communities out. */
  community?: string | undefined
  /** Name of an account. */
  author?: string | undefined
  /** Only of communities that the viewer subscribes to and accounts that it follows. */
  isFollowing?: boolean | undefined
  limit: number
  cursor: Cursor | null
  offset?: number | undefined
}

/** Sort keys. All but that of "rising" have an index over all listed posts and one by community. */
const keyOf = (sort: PostSort, of: PostColumns, now: SQLWrapper): SQL =>
  ({
    new: sql`${of.createdAt}`,
    hot: sql`${of.hotRank}`,
    top: sql`(${of.upvotes} - ${of.downvotes})`,
    rising: risingSql(of, now),
  })[sort]

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
  isFollowing: boolean
  isAfterRow: boolean
}

/**
 * Prepares the lists of posts, so that those of one shape are compiled once. A list reads rows in
 * proportion to its page, except `top` of one account; "rising" ranks the newest posts. The lists of what
 * a viewer follows and "rising" need the viewer's values.
 *
 * @param before `viewerCte` when the fields use the viewer
 */
export function preparePostLists<F extends Fields>(
  fields: F,
  before?: (values: Params<ViewerValues>) => SQL,
): (list: PostList, viewer?: ViewerValues) => Statement<RowOf<F>[]> {
  const prepareList = (shape: ListShape) =>
    prepare((values: Params<ListValues>) =>
      manySql(
        fields,
        listSql(shape, values),
        before?.(values) ?? (shape.isFollowing ? viewerCte(values) : undefined),
      ),
    )
  const prepared = new Map<string, ReturnType<typeof prepareList>>()
  return (list, viewer = viewerValues(null, 0)) => {
    const [afterKey, afterId] = Array.isArray(list.cursor) ? list.cursor : [null, null]
    const shape: ListShape = {
      sort: list.sort,
      isOfCommunity: list.community !== undefined,
      isOfAuthor: list.author !== undefined,
      isFollowing: list.isFollowing === true,
      isAfterRow: afterId !== null && list.sort !== 'rising',
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
  const { sort } = shape
  const orderOf = (of: PostColumns) =>
    sql`ORDER BY ${keyOf(sort, of, values.now)} DESC, ${of.id} DESC`
  const page = sql`${orderOf(p)} LIMIT ${values.limit} OFFSET ${values.offset}`
  const candidates = candidatesSql(shape, values)
  if (!candidates) return sql`FROM ${postTables} WHERE ${conditionsSql(shape, values, p)} ${page}`
  const chosen = firstPostsSql(candidates, (of) => {
    const rows = sql`${values.limit} + ${values.offset}`
    return sql`${conditionsSql(shape, values, of)} ${orderOf(of)} LIMIT ${rows}`
  })
  return sql`FROM ${chosen} chosen CROSS JOIN ${postTables}
    WHERE ${p.id} = chosen.id AND ${isPostShownSql(p)} AND ${canReadSql(p.communityId, values.reader)} ${page}`
}

function conditionsSql(shape: ListShape, values: Params<ListValues>, of: PostColumns): SQL {
  const after = sql`(${values.afterKey}, ${values.afterId})`
  const conditions = [
    sql`${isPostShownSql(of)} AND ${canReadSql(of.communityId, values.reader)}`,
    ...placesSql(shape, values, of),
    ...(isPlaced(shape) || shape.isFollowing ? [] : [sql`${of.isListed} = 1`]),
    ...(shape.isAfterRow ? [sql`(${keyOf(shape.sort, of, values.now)}, ${of.id}) < ${after}`] : []),
  ]
  return sql.join(conditions, sql` AND `)
}

/** The conditions of a list of one community or author. */
const placesSql = (
  { isOfCommunity, isOfAuthor }: ListShape,
  { community, author }: Params<ListValues>,
  of: PostColumns,
): SQL[] => [
  ...(isOfCommunity
    ? [
        sql`${of.communityId} = (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${community})`,
      ]
    : []),
  ...(isOfAuthor
    ? [
        sql`${of.authorId} = (SELECT ${accounts.id} FROM ${accounts} WHERE ${accounts.name} = ${author})`,
      ]
    : []),
]

/** The posts that a list chooses from; null for a list that an index orders. */
function candidatesSql(shape: ListShape, values: Params<ListValues>): SQL | null {
  const { sort, isFollowing, isAfterRow } = shape
  if (isFollowing) {
    return followedCandidatesSql({
      keyOf: (of) => keyOf(sort, of, values.now),
      isByTime: sort === 'new',
      isRising: sort === 'rising',
      after: isAfterRow ? { key: values.afterKey, id: values.afterId } : null,
      rows: sql`${values.limit} + ${values.offset}`,
    })
  }
  if (sort !== 'rising') return null
  return risingCandidatesSql((of) =>
    sql.join(
      [...placesSql(shape, values, of), ...(isPlaced(shape) ? [] : [sql`${of.isListed} = 1`])],
      sql` AND `,
    ),
  )
}

const isPlaced = ({ isOfCommunity, isOfAuthor }: ListShape): boolean => isOfCommunity || isOfAuthor

const selectPostList = preparePostLists(postFields)

/** Selects one page of posts. */
export const selectPosts = (list: PostList, viewer?: ViewerValues): Statement<PostRow[]> =>
  selectPostList(list, viewer)

/** Returns the cursor of the page that begins after the last row; that of "rising" is a number of rows. */
export function toPostCursor(
  { sort, cursor, offset = 0 }: Pick<PostList, 'sort' | 'cursor' | 'offset'>,
  rows: readonly Pick<PostRow, 'id' | 'createdAt' | 'hotRank' | 'score'>[],
): Cursor | null {
  const row = rows.at(-1)
  if (!row) return null
  if (sort === 'rising') return (typeof cursor === 'number' ? cursor : offset) + rows.length
  return [{ new: row.createdAt, hot: row.hotRank, top: row.score }[sort], row.id]
}

interface OfRun {
  activationId: ActivationId
  reader: Reader
}

const preparedPostOfRun = prepare(({ activationId, reader }: Params<OfRun>) =>
  oneSql(
    { ...postFields, visibility: c.visibility },
    sql`FROM ${activations} ${x} CROSS JOIN ${postTables}
      WHERE ${x.id} = ${activationId} AND ${p.id} = ${x.postId} AND ${isPostShownSql(p)}
        AND ${canReadSql(p.communityId, reader)}`,
  ),
)

/** Selects the post in whose thread an activation runs and who reads it, unless it is deleted. */
export const selectPostOfRun = (
  run: OfRun,
): Statement<(PostRow & { visibility: CommunityRow['visibility'] }) | undefined> =>
  preparedPostOfRun(run)

const preparedPost = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    postFields,
    sql`FROM ${postTables}
      WHERE ${p.id} = ${id} AND ${isPostShownSql(p)} AND ${canReadSql(p.communityId, reader)}`,
  ),
)

/** Selects one post that is not deleted and that the reader reads. */
export const selectPost = (id: string, reader: Reader): Statement<PostRow | undefined> =>
  preparedPost({ id, reader })

/** Title shown in place of that of a post that a moderator removed. */
const removedTitle = '[removed]'

/**
 * Fields of a post of which a moderator's removal leaves the place and the reason. Every field that holds
 * text by the author is empty here.
 */
export const shownPostFields = {
  ...postFields,
  title: sql<string>`iif(${isPostShownSql(p)}, ${p.title}, ${sql.raw(`'${removedTitle}'`)})`,
  content: sql<string>`iif(${isPostShownSql(p)}, ${p.content}, '')`,
  url: sql<string | null>`iif(${isPostShownSql(p)}, ${p.url}, NULL)`,
}

const preparedShownPost = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    shownPostFields,
    sql`FROM ${postTables}
      WHERE ${p.id} = ${id} AND ${hasPageSql(p)} AND ${canReadSql(p.communityId, reader)}`,
  ),
)

/** Selects one post that the reader reads, or without its text one that a moderator removed. */
export const selectShownPost = (id: string, reader: Reader): Statement<PostRow | undefined> =>
  preparedShownPost({ id, reader })

const preparedPinned = prepare(
  ({ community, reader }: Params<{ community: string; reader: Reader }>) =>
    manySql(
      postFields,
      sql`FROM ${postTables} WHERE ${p.pinnedAt} IS NOT NULL AND ${isPostShownSql(p)}
      AND ${p.communityId} = (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${community})
      AND ${canReadSql(p.communityId, reader)}
      ORDER BY ${p.pinnedAt} DESC`,
    ),
)

/** Selects the pinned posts of a community, the last pinned first. */
export const selectPinnedPosts = (community: string, reader: Reader): Statement<PostRow[]> =>
  preparedPinned({ community, reader })
