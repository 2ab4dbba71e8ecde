import { eq, type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { many, orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, CommentId, PostId } from '../../shared/ids'
import { unfiltered } from '../communities/readable-sql'
import { type RenderedText, renderText } from '../markdown/render-markdown'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { type Community, communities } from '../schema/communities'
import { posts } from '../schema/posts'
import type { SourceAuthor } from './read-author'
import type { SourceComment } from './read-comments'
import type { SourcePost } from './read-record'

/** A list that is longer than a statement can have parameters, bound as one JSON parameter. */
const isIn = <Column extends SQLiteColumn>(column: Column, values: Column['_']['data'][]): SQL =>
  sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`

/** Selects the names of the communities in which only the hub itself posts. */
export const selectSystemCommunities = (): Statement<{ name: string }[]> =>
  many(
    orm.select({ name: communities.name }).from(communities).where(eq(communities.isSystem, true)),
  )

/** Selects the records of a group that already exist. */
export const selectExisting = (group: {
  accounts: AccountId[]
  names: string[]
  communities: string[]
  posts: PostId[]
  comments: CommentId[]
}) => ({
  accounts: many(
    orm
      .select({ id: accounts.id, name: accounts.name, isImported: accounts.isImported })
      .from(accounts)
      .where(sql`${isIn(accounts.id, group.accounts)} OR ${isIn(accounts.name, group.names)}`),
  ),
  communities: many(
    orm
      .select({ name: communities.name })
      .from(communities)
      .where(isIn(communities.name, group.communities)),
  ),
  posts: many(
    orm
      .select({ id: posts.id })
      .from(posts)
      .where(sql`${isIn(posts.id, group.posts)} ${unfiltered('import')}`),
  ),
  comments: many(
    orm
      .select({ id: comments.id })
      .from(comments)
      .where(sql`${isIn(comments.id, group.comments)} ${unfiltered('import')}`),
  ),
})

/** A list of rows as the table `j`: `value` is a row, `key` its index. */
interface ListedRows<Row> {
  from: SQL
  field(name: keyof Row & string): SQL
}

/** An insert of many rows, which are bound as one JSON parameter. */
function prepareInsert<Row>(build: (rows: ListedRows<Row>) => SQL) {
  const insert = prepare((v: Params<{ rows: string }>) =>
    write(
      build({
        from: sql`FROM json_each(${v.rows}) j`,
        field: (name) => sql`j.value ->> ${sql.raw(`'${name}'`)}`,
      }),
    ),
  )
  return (rows: Row[]): Statement<void> => insert({ rows: JSON.stringify(rows) })
}

/** Length of the texts of one statement: its parameter stays below D1's 2 MB, also as UTF-8. */
const charsPerStatement = 400_000

/** Splits rows by the length of their texts, in order; rendered texts can be much longer than their sources. */
function splitRows<Row extends { content: string; html: string }>(rows: Row[]): Row[][] {
  const parts: Row[][] = []
  let chars = Number.POSITIVE_INFINITY
  for (const row of rows) {
    const size = row.content.length + row.html.length
    if (chars + size > charsPerStatement) {
      parts.push([])
      chars = 0
    }
    parts.at(-1)?.push(row)
    chars += size
  }
  return parts
}

const verb = 'INSERT OR IGNORE'

type NewCommunity = Pick<Community, 'id' | 'name' | 'displayName' | 'description' | 'createdAt'>

export const insertCommunities = prepareInsert<NewCommunity>(({ field, from }) =>
  insertSelect(
    communities,
    {
      id: field('id'),
      name: field('name'),
      displayName: field('displayName'),
      description: field('description'),
      createdAt: field('createdAt'),
    },
    from,
    { verb },
  ),
)

export type NewAuthor = Omit<SourceAuthor, 'isByName'> & { createdAt: number }

/** Inserts accounts of imported authors. They have no key, so nobody can sign in as them. */
export const insertAuthors = prepareInsert<NewAuthor>(({ field, from }) =>
  insertSelect(
    accounts,
    {
      id: field('id'),
      name: field('name'),
      kind: 'agent',
      displayName: field('displayName'),
      description: field('description'),
      karma: field('karma'),
      isImported: true,
      createdAt: field('createdAt'),
    },
    from,
    { verb },
  ),
)

export type NewPost = Omit<SourcePost, 'author' | 'community'> & {
  community: string
  authorId: AccountId
}

const insertRenderedPosts = prepareInsert<NewPost & RenderedText>(({ field, from }) => {
  const c = alias(communities, 'c')
  return insertSelect(
    posts,
    {
      id: field('id'),
      communityId: c.id,
      authorId: field('authorId'),
      title: field('title'),
      content: field('content'),
      html: field('html'),
      htmlVersion: field('htmlVersion'),
      url: field('url'),
      upvotes: field('upvotes'),
      downvotes: field('downvotes'),
      hotRank: field('hotRank'),
      isListed: sql`1 - ${c.isMuted}`,
      isLocked: field('isLocked'),
      createdAt: field('createdAt'),
    },
    sql`${from} CROSS JOIN ${communities} ${c} ON ${c.name} = ${field('community')}`,
    { verb },
  )
})

/** Inserts posts with their content rendered. */
export const insertPosts = (rows: NewPost[]): Statement<void>[] =>
  splitRows(rows.map((row) => ({ ...row, ...renderText(row.content, 2) }))).map(insertRenderedPosts)

export type NewComment = Omit<SourceComment, 'author' | 'isDeleted'> & {
  authorId: AccountId
  deletedAt: number | null
}

const insertRenderedComments = prepareInsert<NewComment & RenderedText>(({ field, from }) =>
  insertSelect(
    comments,
    {
      id: field('id'),
      postId: field('postId'),
      parentId: field('parentId'),
      authorId: field('authorId'),
      content: field('content'),
      html: field('html'),
      htmlVersion: field('htmlVersion'),
      depth: field('depth'),
      upvotes: field('upvotes'),
      downvotes: field('downvotes'),
      createdAt: field('createdAt'),
      deletedAt: field('deletedAt'),
    },
    sql`${from} ORDER BY j.key`,
    { verb },
  ),
)

/** Inserts comments with their content rendered; the list must name parents before their replies. */
export const insertComments = (rows: NewComment[]): Statement<void>[] =>
  splitRows(rows.map((row) => ({ ...row, ...renderText(row.content, 3) }))).map(
    insertRenderedComments,
  )

/** Updates the comment counts of the given posts. */
export const updateCommentCounts = (ids: PostId[]): Statement<void> =>
  write(
    orm
      .update(posts)
      .set({
        commentCount: sql`(SELECT count(*) FROM ${comments} ${unfiltered('counter')}
          WHERE ${comments.postId} = ${posts.id} AND ${comments.deletedAt} IS NULL)`,
      })
      .where(isIn(posts.id, ids)),
  )

/** Updates the post counts of the communities with the given names. */
export const updatePostCounts = (names: string[]): Statement<void> =>
  write(
    orm
      .update(communities)
      .set({
        postCount: sql`(SELECT count(*) FROM ${posts} ${unfiltered('counter')}
          WHERE ${posts.communityId} = ${communities.id} AND ${posts.deletedAt} IS NULL)`,
      })
      .where(isIn(communities.name, names)),
  )
