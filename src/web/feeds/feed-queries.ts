import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { selectAccountByName } from '../../hub/accounts/queries'
import { selectShownCommunity } from '../../hub/communities/queries'
import { shownTextFields } from '../../hub/markdown/queries'
import { postFields, preparePostLists } from '../../hub/posts/queries'
import { canReadPostSql } from '../../hub/rules/readable-sql'
import { isCommentShownSql, isPostShownSql } from '../../hub/rules/shown-sql'
import { accounts } from '../../hub/schema/accounts'
import { comments, posts } from '../../hub/schema/posts'
import type { Reader } from '../../hub/viewers/reader'
import { limits } from '../../shared/config'
import { nullable, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import { omit } from '../../shared/omit'

const p = alias(posts, 'p')
const m = alias(comments, 'm')
const a = alias(accounts, 'a')

const entryFields = {
  ...omit(postFields, ['content']),
  ...shownTextFields(
    { content: p.content, html: p.html, htmlVersion: p.htmlVersion },
    sql`${p.createdAt} DESC, ${p.id} DESC`,
  ),
}

/** A post of a feed; `html` and `content` as `shownTextFields` has them. */
export type FeedPost = RowOf<typeof entryFields>

const selectList = preparePostLists(entryFields)

/** Selects the newest posts of the hub, of one community or by one account. */
const selectPosts = (
  reader: Reader,
  within: { community?: string; author?: string } = {},
): Statement<FeedPost[]> =>
  selectList({ ...within, reader, sort: 'new', cursor: null, limit: limits.page.postsDefault })

const commentFields = {
  id: m.id,
  createdAt: m.createdAt,
  editedAt: nullable(m.editedAt),
  authorName: a.name,
  authorDisplayName: a.displayName,
  ...shownTextFields(
    { content: m.content, html: m.html, htmlVersion: m.htmlVersion },
    sql`${m.createdAt} DESC, ${m.id} DESC`,
  ),
}

/** A comment of a thread's feed. */
export type FeedComment = RowOf<typeof commentFields>

type OfPost = Params<{ postId: string; reader: Reader }>

const preparedComments = prepare(({ postId, reader }: OfPost) =>
  manySql(
    commentFields,
    sql`FROM (SELECT * FROM ${comments} ${m}
        WHERE ${m.postId} = ${postId} AND ${canReadPostSql(postId, reader)} AND ${isCommentShownSql(m)}
        ORDER BY ${m.createdAt} DESC, ${m.id} DESC LIMIT ${sql.raw(String(limits.page.postsDefault))}) ${m}
      CROSS JOIN ${accounts} ${a} ON ${a.id} = ${m.authorId}
      ORDER BY ${m.createdAt} DESC, ${m.id} DESC`,
  ),
)

const preparedPost = prepare(({ postId, reader }: OfPost) =>
  oneSql(
    { title: p.title, createdAt: p.createdAt },
    sql`FROM ${posts} ${p} WHERE ${p.id} = ${postId} AND ${isPostShownSql(p)} AND ${canReadPostSql(postId, reader)}`,
  ),
)

/** The statements of each feed: what it is of, where it is of one thing, and its entries. */
export const feedStatements = {
  hub: (reader: Reader) => ({ posts: selectPosts(reader) }),
  community: (reader: Reader, name: string) => ({
    community: selectShownCommunity({ name, reader }),
    posts: selectPosts(reader, { community: name }),
  }),
  account: (reader: Reader, name: string) => ({
    account: selectAccountByName({ name }),
    posts: selectPosts(reader, { author: name }),
  }),
  thread: (reader: Reader, postId: string) => ({
    post: preparedPost({ postId, reader }),
    comments: preparedComments({ postId, reader }),
  }),
}
