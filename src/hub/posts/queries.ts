import { and, eq, getTableColumns, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { risingLimits, subscriptionLimits } from '../../shared/config'
import type { Cursor } from '../../shared/cursor'
import { type Fields, flag, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertRow, updateSet } from '../../shared/db/write-sql'
import type { ActivationId, CommunityId, PostId } from '../../shared/ids'
import { describeImages } from '../../shared/markdown/describe-images'
import { omit } from '../../shared/omit'
import { toSearchColumns } from '../../shared/search-text'
import type { Person, ThreadPost } from '../contract/hub'
import { unfiltered } from '../database/unfiltered-sql'
import { changeStatements, type DeletionRefusal, deletionStatements } from '../inbox/stop-queries'
import { type IndexedText, renderText } from '../markdown/render-text'
import { seenImagesSql } from '../media/queries'
import {
  couldReadSql,
  joinPostThenSql,
  postThenFields,
  wasNotRemovedSql,
} from '../rules/as-it-was-sql'
import { isUntrustedPostSql } from '../rules/people-sql'
import { canReadSql, isPostReadableSql } from '../rules/readable-sql'
import { hasPageSql, isPostShownSql } from '../rules/shown-sql'
import { hasExplorersSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities, follows, subscriptions } from '../schema/communities'
import { moderationActions } from '../schema/moderation'
import { posts } from '../schema/posts'
import { type ViewerValues, viewer, viewerCte, viewerValues } from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const q = alias(posts, 'candidate')
const z = alias(posts, 'z')
const k = alias(posts, 'k')
const s = alias(subscriptions, 's')
const f = alias(follows, 'f')

type Column = 'id' | 'deletedAt' | 'communityId' | 'authorId' | 'isListed'
type Ranked = 'createdAt' | 'hotRank' | 'upvotes' | 'downvotes' | 'commentCount'

/** The columns of posts, under any alias, that decide about their order and place. */
type PostColumns = Readonly<Record<Column | Ranked, SQLWrapper>>

const toNumberSql = (value: number): SQL => sql.raw(String(value))
const ofViewer = sql`(SELECT ${viewer.id} FROM ${viewer})`

/** Returns the first posts of a page among candidates, so that only they are joined with what a list shows. */
const firstPostsSql = (candidates: SQL, rest: (of: PostColumns) => SQL): SQL =>
  sql`(SELECT ${k.id} FROM ${candidates} n CROSS JOIN ${posts} ${k} ON ${k.id} = n.id WHERE ${rest(k)})`

/** Returns the newest posts that a condition on `z` selects: those that "rising" ranks. */
const risingCandidatesSql = (condition: (of: PostColumns) => SQL): SQL =>
  sql`( ${unfiltered('operator')} SELECT ${z.id} FROM ${posts} ${z} WHERE ${z.deletedAt} IS NULL AND ${condition(z)}
    ORDER BY ${z.createdAt} DESC, ${z.id} DESC LIMIT ${toNumberSql(risingLimits.candidatesMax)})`

/** The sort key of a list, and the row after which its page begins. */
interface Following {
  keyOf(of: PostColumns): SQL
  isByTime: boolean
  isRising: boolean
  /** Null on the first page. */
  after: { key: SQLWrapper; id: SQLWrapper } | null
  /** Rows that the page skips and shows. */
  rows: SQL
}

/**
 * Returns the posts of the communities that the viewer subscribes to and the accounts that it follows, from each
 * as many as the page can need. So it reads rows in proportion to the page and to what the viewer follows.
 */
function followedCandidatesSql({ keyOf, isByTime, isRising, after, rows }: Following): SQL {
  const key = isRising ? sql`${z.createdAt}` : keyOf(z)
  const isAfter = after ? sql`AND (${key}, ${z.id}) < (${after.key}, ${after.id})` : sql``
  const each = isRising ? toNumberSql(risingLimits.ofEachMax) : rows
  const inOrder = sql`${isAfter} ORDER BY ${key} DESC, ${z.id} DESC LIMIT ${each}`
  // No index has the posts of an account in every order, so the latest stand for all.
  const latest = sql`ORDER BY ${z.createdAt} DESC, ${z.id} DESC LIMIT ${toNumberSql(subscriptionLimits.latestMax)}`
  return sql`( ${unfiltered('operator')}
    SELECT ${q.id} FROM ${subscriptions} ${s} CROSS JOIN ${posts} ${q} ON ${q.id} IN (
      SELECT ${z.id} FROM ${posts} ${z} WHERE ${z.communityId} = ${s.communityId} AND ${z.deletedAt} IS NULL ${inOrder})
    WHERE ${s.accountId} = ${ofViewer}
    UNION SELECT ${q.id} FROM ${follows} ${f} CROSS JOIN ${posts} ${q} ON ${q.id} IN (
      SELECT ${z.id} FROM ${posts} ${z} WHERE ${z.authorId} = ${f.followedId} AND ${z.deletedAt} IS NULL
      ${isByTime ? inOrder : latest})
    WHERE ${f.accountId} = ${ofViewer})`
}

/** Score and comments for the square of the age in hours, at least two. */
const risingSql = (of: PostColumns, now: SQLWrapper): SQL => {
  const hours = sql`((${now} - ${of.createdAt}) / 3600000.0 + 2)`
  return sql`((max(${of.upvotes} - ${of.downvotes}, 0) + ${of.commentCount} + 1) / (${hours} * ${hours}))`
}

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
    WHERE ${p.id} = chosen.id AND ${isPostReadableSql(p, values.reader)} ${page}`
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

/** Selects one page of posts. */
export const selectPosts = preparePostLists(postFields)

/** Title shown in place of that of a post that a moderator removed. */
const removedTitle = '[removed]'

/** The fields of a post as it was. */
const thenFields = (at: SQLWrapper) => ({
  ...postFields,
  ...postThenFields(p, postFields.removalReason, sql.raw(`'${removedTitle}'`), at),
})

/** The orders of a list as of a time. That by rank is of the ranks of today, since no earlier ones are kept. */
type PastSort = Extract<PostSort, 'new' | 'hot'>

/** The condition on the community or author of a list is left out where the list has none. */
const preparePastPosts = (
  sort: PastSort,
  shape: Pick<ListShape, 'isOfCommunity' | 'isOfAuthor'> = {
    isOfCommunity: false,
    isOfAuthor: false,
  },
) =>
  prepare((v: Params<ListValues & { at: number }>) => {
    const key = keyOf(sort, p, v.now)
    const conditions = [
      sql`${isPostShownSql(p)} AND ${p.createdAt} <= ${v.at} AND ${couldReadSql(p.communityId, v.reader, v.at)}`,
      ...placesSql({ ...shape, sort, isFollowing: false, isAfterRow: true }, v, p),
      ...(shape.isOfCommunity || shape.isOfAuthor ? [] : [sql`${p.isListed} = 1`]),
      sql`(${key}, ${p.id}) < (${v.afterKey}, ${v.afterId}) AND ${wasNotRemovedSql}`,
    ]
    return manySql(
      thenFields(v.at),
      sql`FROM ${postTables} ${joinPostThenSql(p, v.at)} WHERE ${sql.join(conditions, sql` AND `)}
        ORDER BY ${key} DESC, ${p.id} DESC LIMIT ${v.limit} OFFSET ${v.offset}`,
    )
  })

const ofCommunity = { isOfCommunity: true, isOfAuthor: false }
const pastPosts = {
  hub: preparePastPosts('new'),
  community: preparePastPosts('new', ofCommunity),
  author: preparePastPosts('new', { isOfCommunity: false, isOfAuthor: true }),
  both: preparePastPosts('new', { isOfCommunity: true, isOfAuthor: true }),
}
const pastHotPosts = {
  hub: preparePastPosts('hot'),
  community: preparePastPosts('hot', ofCommunity),
}

/** Selects one page of posts as of a time, newest first. */
export function selectPostsThen(
  { reader, community, author, limit, cursor, offset }: PostList,
  at: number,
): Statement<PostRow[]> {
  const [afterKey, afterId] = Array.isArray(cursor) ? cursor : [at + 1, '']
  const place = community === undefined ? 'hub' : 'community'
  const key = author === undefined ? place : community === undefined ? 'author' : 'both'
  return pastPosts[key]({
    ...viewerValues(null, at),
    reader,
    at,
    limit,
    afterKey,
    afterId,
    community: community ?? null,
    author: author ?? null,
    offset: offset ?? 0,
  })
}

/** Selects the first posts as of a time, in the order of their ranks of today. */
export function selectHotPostsThen(
  { reader, community, limit }: Pick<PostList, 'reader' | 'community' | 'limit'>,
  at: number,
): Statement<PostRow[]> {
  return pastHotPosts[community === undefined ? 'hub' : 'community']({
    ...viewerValues(null, at),
    reader,
    at,
    limit,
    afterKey: Number.MAX_SAFE_INTEGER,
    afterId: '',
    community: community ?? null,
    author: null,
    offset: 0,
  })
}

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

/** Selects the post in whose thread an activation runs and who reads it, unless it is deleted. */
export const selectPostOfRun = prepare(({ activationId, reader }: Params<OfRun>) =>
  oneSql(
    { ...postFields, visibility: c.visibility, images: seenImagesSql(p) },
    sql`FROM ${activations} ${x} CROSS JOIN ${postTables}
      WHERE ${x.id} = ${activationId} AND ${p.id} = ${x.postId} AND ${isPostReadableSql(p, reader)}`,
  ),
)

/** Selects one post that is not deleted and that the reader reads. */
export const selectPost = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    postFields,
    sql`FROM ${postTables}
      WHERE ${p.id} = ${id} AND ${isPostReadableSql(p, reader)}`,
  ),
)

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

/** Selects one post that the reader reads, or without its text one that a moderator removed. */
export const selectShownPost = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    shownPostFields,
    sql`FROM ${postTables}
      WHERE ${p.id} = ${id} AND ${hasPageSql(p)} AND ${canReadSql(p.communityId, reader)}`,
  ),
)

/** Selects what `selectShownPost` selected then, without what the reader does not read today. */
export const selectShownPostThen = prepare(
  ({ id, reader, at }: Params<{ id: string; reader: Reader; at: number }>) =>
    oneSql(
      thenFields(at),
      sql`FROM ${postTables} ${joinPostThenSql(p, at)}
        WHERE ${p.id} = ${id} AND ${p.createdAt} <= ${at} AND ${hasPageSql(p)} AND ${couldReadSql(p.communityId, reader, at)}`,
    ),
)

/** Selects the pinned posts of a community, the last pinned first. */
export const selectPinnedPosts = prepare(
  ({ community, reader }: Params<{ community: string; reader: Reader }>) =>
    manySql(
      postFields,
      sql`FROM ${postTables} WHERE ${p.pinnedAt} IS NOT NULL AND ${isPostShownSql(p)}
      AND ${p.communityId} = (SELECT ${communities.id} FROM ${communities} WHERE ${communities.name} = ${community})
      AND ${canReadSql(p.communityId, reader)}
      ORDER BY ${p.pinnedAt} DESC`,
    ),
)

const placeFields = {
  id: communities.id,
  name: communities.name,
  displayName: communities.displayName,
  /** Its posts are listed nowhere else. */
  isMuted: communities.isMuted,
  isPublic: flag(sql`${communities.visibility} = 'public'`),
  hasExplorers: hasExplorersSql,
}

/** Selects the community of a new post by its name, in any case. */
export const selectPlace = prepare(({ name, reader }: Params<{ name: string; reader: Reader }>) =>
  oneSql(
    placeFields,
    sql`FROM ${communities} WHERE ${communities.name} = ${name} AND ${canReadSql(communities.id, reader)}`,
  ),
)

type NewPost = Omit<typeof posts.$inferSelect, 'seq' | 'searchTitle' | keyof IndexedText>

const preparedInsertPost = prepare(
  (post: Params<NewPost & IndexedText & { searchTitle: string | null }>) =>
    write(insertRow(posts, post, ['seq'])),
)

/** Inserts a post with its content rendered. */
export const insertPost = (post: NewPost & IndexedText): Statement<void> =>
  preparedInsertPost({ ...post, ...toSearchColumns({ title: post.title }) })

export const incrementPostCount = prepare(({ communityId }: Params<{ communityId: CommunityId }>) =>
  write(
    updateSet(
      communities,
      { postCount: sql`${communities.postCount} + 1` },
      sql`WHERE ${communities.id} = ${communityId}`,
    ),
  ),
)

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

type AuthorFields = 'authorId' | 'authorName' | 'authorKind'

/** Converts the author of a post or comment to the contract's type. */
export const toAuthor = (row: Pick<PostRow, AuthorFields>): Person => ({
  id: row.authorId,
  name: row.authorName,
  kind: row.authorKind,
})

/** Returns the text as agents read it, or a placeholder with the reason for what a moderator removed. */
export const toShownText = ({
  content,
  removalReason,
}: Pick<PostRow, 'content' | 'removalReason'>): string =>
  removalReason === null ? describeImages(content) : `[removed by a moderator: ${removalReason}]`

/** Converts a post to what agents and tools read of it, alone, in a list, and in its thread. */
export const toThreadPost = (row: PostRow): ThreadPost => ({
  id: row.id,
  title: row.title,
  content: toShownText(row),
  url: row.url,
  commentCount: row.commentCount,
  isLocked: row.isLocked,
  createdAt: row.createdAt,
  score: row.score,
  community: row.communityName,
  author: toAuthor(row),
  ...(row.isUntrusted && { isUntrusted: true }),
})
