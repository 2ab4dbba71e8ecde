import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { importLimits } from '../../shared/config'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, CommentId, CommunityId, PostId } from '../../shared/ids'
import { toSearchColumns } from '../../shared/search-text'
import { unfiltered } from '../communities/readable-sql'
import { type IndexedText, renderText } from '../markdown/render-text'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { type Community, communities } from '../schema/communities'
import { type ImportedKind, importedRecords } from '../schema/imported-records'
import { posts } from '../schema/posts'
import type { SourceAuthor } from './read-author'
import type { SourceComment } from './read-comments'
import type { SourcePost } from './read-record'

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
