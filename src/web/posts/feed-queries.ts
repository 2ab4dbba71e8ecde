import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type PostSort, postFields, preparePostLists, toPostCursor } from '../../hub/posts/queries'
import { communities } from '../../hub/schema/communities'
import { posts } from '../../hub/schema/posts'
import { votes } from '../../hub/schema/votes'
import { type Credential, viewer, viewerCte, viewerValues } from '../../hub/viewers/queries'
import { type Reader, requestReader } from '../../hub/viewers/reader'
import { limits } from '../../shared/config'
import { type Cursor, decodeCount, decodeKeyset } from '../../shared/cursor'
import { number, type RowOf } from '../../shared/db/fields'
import type { Statement } from '../../shared/db/statement'

const p = alias(posts, 'p')
const v = alias(votes, 'v')
/** The community of `postTables`. */
const c = alias(communities, 'c')

const feedFields = {
  ...postFields,
  visibility: c.visibility,
  /** The beginning of the text. */
  content: sql<string>`substr(${p.content}, 1, 600)`,
  /** The viewer's own vote: 1, -1 or 0. */
  ownVote: number(sql`coalesce((SELECT ${v.value} FROM ${votes} ${v}
    WHERE ${v.accountId} = (SELECT ${viewer.id} FROM ${viewer}) AND ${v.postId} = ${p.id}
      AND ${v.commentId} = ''), 0)`),
}

export type FeedPageRow = RowOf<typeof feedFields>

export interface FeedPage {
  sort: PostSort
  cursor: Cursor | null
  /** All listed posts, those of one community, or those by one account. */
  within: { community?: string; author?: string }
  /** The viewer, whose own votes are shown. */
  viewer: { credential: Credential | null; now: number }
}

/** Parses the cursor of a page of posts, as `FeedPager` links it; null on the first page. @throws VALIDATION */
export function readFeedCursor(
  path: string,
  sort: PostSort,
  text: string | undefined,
): Cursor | null {
  const decode = sort === 'rising' && text ? decodeCount : decodeKeyset
  return decode(`${path}?sort=${sort}`, text)
}

/** Returns for whom a page reads. */
export const toReader = ({ credential, now }: FeedPage['viewer']): Reader =>
  requestReader(credential, now)

const selectFeedList = preparePostLists(feedFields, viewerCte)

/** One row more than a page shows, which shows whether there is a next page. */
const feedRowsMax = limits.page.postsDefault + 1

/** Selects one page of posts. */
export function selectFeedRows(page: FeedPage): Statement<FeedPageRow[]> {
  const { sort, cursor, within, viewer: of } = page
  return selectFeedList(
    { ...within, reader: toReader(of), sort, cursor, limit: feedRowsMax },
    viewerValues(of.credential, of.now),
  )
}

/** Returns the cursor of the page after `rows`; null after the last page. */
export function computeNextCursor(page: FeedPage, rows: FeedPageRow[]): Cursor | null {
  return rows.length < feedRowsMax
    ? null
    : toPostCursor(page, rows.slice(0, limits.page.postsDefault))
}
