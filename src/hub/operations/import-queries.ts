import { type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { importLimits } from '../../shared/config'
import type { Answers } from '../../shared/db/batch'
import { flag } from '../../shared/db/fields'
import {
  many,
  manySql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, CommentId, CommunityId, PostId } from '../../shared/ids'
import { toSearchColumns } from '../../shared/search-text'
import { unfiltered } from '../database/unfiltered-sql'
import { type IndexedText, renderText } from '../markdown/render-text'
import { canReadSql } from '../rules/readable-sql'
import { writingRefusalSql } from '../rules/writing'
import { accounts } from '../schema/accounts'
import { type Community, communities } from '../schema/communities'
import { comments, posts } from '../schema/posts'
import { type ImportedKind, importedRecords } from '../schema/system'
import type { Reader } from '../viewers/reader'
import type { SourceAuthor, SourceComment, SourcePost } from './import-records'

/** A list that is longer than a statement can have parameters, bound as one JSON parameter. */
const isIn = <Column extends SQLiteColumn>(column: Column, values: Column['_']['data'][]): SQL =>
  sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`

/** Who imports, and the name that they gave the source. */
export interface Importer {
  accountId: AccountId
  reader: Reader
  source: string
}

/** Keys and names of what a group has. */
export interface GroupKeys {
  authors: string[]
  posts: string[]
  comments: string[]
  communities: string[]
  /** Names that accounts could get. */
  names: string[]
}

const a = alias(accounts, 'a')
const p = alias(posts, 'p')
const c = alias(comments, 'c')
const m = alias(communities, 'm')
const r = alias(importedRecords, 'r')

/** The records of a source that have one of the keys, for FROM: `r`. CROSS: the keys are looked up, one by one. */
const importedSql = (source: string, kind: ImportedKind, keys: string[]): SQL =>
  sql`json_each(${JSON.stringify(keys)}) j
    CROSS JOIN ${importedRecords} ${r} ON ${r.source} = ${source} AND ${r.kind} = ${kind} AND ${r.key} = j.value`

/** Selects what earlier imports of this source have made, and what of the hub the importer would write to. */
export const selectExisting = (
  { accountId, reader, source }: Importer,
  keys: GroupKeys,
  now: number,
) => {
  const refusal = sql<string | null>`${writingRefusalSql({
    accountId: sql`${accountId}`,
    activationId: sql`NULL`,
    communityId: m.id,
    act: sql`'post'`,
    threadId: sql`NULL`,
    now: sql`${now}`,
  })}`
  /** Whether the importer may write in the community. */
  const place = { canRead: flag(canReadSql(m.id, sql`${reader}`)), refusal }
  return {
    authors: manySql(
      { key: r.key, id: a.id, name: a.name, displayName: a.displayName },
      sql`FROM ${importedSql(source, 'author', keys.authors)} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${r.id}`,
    ),
    // The row can have been deleted since.
    posts: manySql(
      {
        key: r.key,
        id: sql<PostId>`${r.id}`,
        title: sql<string | null>`${p.title}`,
        content: sql<string | null>`${p.content}`,
        createdAt: sql<number | null>`${p.createdAt}`,
        isLocked: flag(sql`coalesce(${p.isLocked}, 0)`),
        isDeleted: flag(sql`(${p.id} IS NULL OR ${p.deletedAt} IS NOT NULL)`),
        ...place,
      },
      sql`FROM ${importedSql(source, 'post', keys.posts)} LEFT JOIN ${posts} ${p} ON ${p.id} = ${r.id}
        LEFT JOIN ${communities} ${m} ON ${m.id} = ${p.communityId} ${unfiltered('import')}`,
    ),
    comments: manySql(
      {
        key: r.key,
        id: sql<CommentId>`${r.id}`,
        postId: sql<PostId | null>`${c.postId}`,
        parentId: sql<CommentId | null>`${c.parentId}`,
        depth: sql<number>`coalesce(${c.depth}, 0)`,
      },
      sql`FROM ${importedSql(source, 'comment', keys.comments)} LEFT JOIN ${comments} ${c} ON ${c.id} = ${r.id}
        ${unfiltered('import')}`,
    ),
    communities: manySql(
      { id: m.id, name: m.name, ...place },
      sql`FROM ${communities} ${m} WHERE ${isIn(m.name, keys.communities)}`,
    ),
    names: many(
      orm.select({ name: accounts.name }).from(accounts).where(isIn(accounts.name, keys.names)),
    ),
  }
}

export type Existing = Answers<ReturnType<typeof selectExisting>>

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

/** Characters of a row's JSON besides its texts. */
const rowChars = 600

/** Splits rows by their length, in order; rendered texts can be much longer than their sources. */
function splitRows<Row extends { content: string; html: string; searchContent: string | null }>(
  rows: Row[],
): Row[][] {
  const parts: Row[][] = []
  let chars = Number.POSITIVE_INFINITY
  for (const row of rows) {
    const size = row.content.length + row.html.length + (row.searchContent?.length ?? 0) + rowChars
    if (chars + size > importLimits.charsPerGroup) {
      parts.push([])
      chars = 0
    }
    parts.at(-1)?.push(row)
    chars += size
  }
  return parts
}

export type NewRecord = { kind: ImportedKind; key: string; id: string }

/** Notes what an import makes; fails its batch when another import has made one of the rows meanwhile. */
export const insertImported = (source: string, rows: NewRecord[]): Statement<void> =>
  write(
    insertSelect(
      importedRecords,
      {
        source,
        kind: sql`j.value ->> 'kind'`,
        key: sql`j.value ->> 'key'`,
        id: sql`j.value ->> 'id'`,
      },
      sql`FROM json_each(${JSON.stringify(rows)}) j`,
    ),
  )

interface IndexedProfile {
  searchDisplayName: string | null
  searchDescription: string | null
}

const withSearchColumns = <Row extends { displayName: string | null; description: string }>(
  row: Row,
) => {
  const { displayName, description } = row
  return { ...row, ...toSearchColumns({ displayName, description }) }
}

export type NewCommunity = Pick<
  Community,
  'id' | 'name' | 'displayName' | 'description' | 'createdAt'
>

const insertIndexedCommunities = prepareInsert<NewCommunity & IndexedProfile>(({ field, from }) =>
  insertSelect(
    communities,
    {
      id: field('id'),
      name: field('name'),
      displayName: field('displayName'),
      description: field('description'),
      searchDisplayName: field('searchDisplayName'),
      searchDescription: field('searchDescription'),
      createdAt: field('createdAt'),
    },
    from,
  ),
)

export type NewAuthor = Pick<SourceAuthor, 'displayName' | 'description' | 'karma'> & {
  id: AccountId
  name: string
  createdAt: number
}

const insertIndexedAuthors = prepareInsert<NewAuthor & IndexedProfile>(({ field, from }) =>
  insertSelect(
    accounts,
    {
      id: field('id'),
      name: field('name'),
      kind: 'agent',
      displayName: field('displayName'),
      description: field('description'),
      searchDisplayName: field('searchDisplayName'),
      searchDescription: field('searchDescription'),
      karma: field('karma'),
      isImported: true,
      createdAt: field('createdAt'),
    },
    from,
  ),
)

/** Inserts accounts of imported authors. They have no key, so nobody can sign in as them. */
export const insertAuthors = (rows: NewAuthor[]): Statement<void> =>
  insertIndexedAuthors(rows.map(withSearchColumns))

export const insertCommunities = (rows: NewCommunity[]): Statement<void> =>
  insertIndexedCommunities(rows.map(withSearchColumns))

export type NewPost = Pick<
  SourcePost,
  'title' | 'content' | 'url' | 'upvotes' | 'downvotes' | 'hotRank' | 'isLocked' | 'createdAt'
> & { id: PostId; communityId: CommunityId; authorId: AccountId }

const insertRenderedPosts = prepareInsert<NewPost & IndexedText & { searchTitle: string | null }>(
  ({ field, from }) => {
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
        searchTitle: field('searchTitle'),
        searchContent: field('searchContent'),
        url: field('url'),
        upvotes: field('upvotes'),
        downvotes: field('downvotes'),
        hotRank: field('hotRank'),
        isListed: sql`1 - ${c.isMuted}`,
        isLocked: field('isLocked'),
        isUntrusted: true,
        createdAt: field('createdAt'),
      },
      sql`${from} JOIN ${communities} ${c} ON ${c.id} = ${field('communityId')} ORDER BY j.key`,
    )
  },
)

/** Inserts posts with their content rendered. */
export const insertPosts = (rows: NewPost[]): Statement<void>[] =>
  splitRows(
    rows.map((row) => ({
      ...row,
      ...renderText('posts', row).columns,
      ...toSearchColumns({ title: row.title }),
    })),
  ).map(insertRenderedPosts)

export type NewComment = Pick<SourceComment, 'content' | 'upvotes' | 'downvotes' | 'createdAt'> & {
  id: CommentId
  postId: PostId
  parentId: CommentId | null
  depth: number
  authorId: AccountId
  deletedAt: number | null
}

const insertRenderedComments = prepareInsert<NewComment & IndexedText>(({ field, from }) =>
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
      searchContent: field('searchContent'),
      depth: field('depth'),
      upvotes: field('upvotes'),
      downvotes: field('downvotes'),
      isUntrusted: true,
      createdAt: field('createdAt'),
      deletedAt: field('deletedAt'),
    },
    sql`${from} ORDER BY j.key`,
  ),
)

/** Inserts comments with their content rendered; the list must name parents before their replies. */
export const insertComments = (rows: NewComment[]): Statement<void>[] =>
  splitRows(rows.map((row) => ({ ...row, ...renderText('comments', row).columns }))).map(
    insertRenderedComments,
  )

/** Returns how often each id stands in a list, as a JSON parameter. */
const countIds = (ids: string[]): string =>
  JSON.stringify([...Map.groupBy(ids, (id) => id)].map(([id, all]) => ({ id, added: all.length })))

/** Adds to the comment counts of posts. @param ids a post for each comment that counts */
export const addToCommentCounts = (ids: PostId[]): Statement<void> =>
  write(
    updateSet(
      posts,
      { commentCount: sql`${posts.commentCount} + (j.value ->> 'added')` },
      sql`FROM json_each(${countIds(ids)}) j WHERE ${posts.id} = j.value ->> 'id' ${unfiltered('counter')}`,
    ),
  )

/** Adds to the post counts of communities. @param ids a community for each post */
export const addToPostCounts = (ids: CommunityId[]): Statement<void> =>
  write(
    updateSet(
      communities,
      { postCount: sql`${communities.postCount} + (j.value ->> 'added')` },
      sql`FROM json_each(${countIds(ids)}) j WHERE ${communities.id} = j.value ->> 'id'`,
    ),
  )
