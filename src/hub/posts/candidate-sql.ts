import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { risingLimits, subscriptionLimits } from '../../shared/config'
import { unfiltered } from '../communities/readable-sql'
import { posts } from '../schema/posts'
import { follows, subscriptions } from '../schema/subscriptions'
import { viewer } from '../viewers/queries'

const q = alias(posts, 'candidate')
const z = alias(posts, 'z')
const k = alias(posts, 'k')
const s = alias(subscriptions, 's')
const f = alias(follows, 'f')

type Column = 'id' | 'deletedAt' | 'communityId' | 'authorId' | 'isListed'
type Ranked = 'createdAt' | 'hotRank' | 'upvotes' | 'downvotes' | 'commentCount'

/** The columns of posts, under any alias, that decide about their order and place. */
export type PostColumns = Readonly<Record<Column | Ranked, SQLWrapper>>

const number = (value: number): SQL => sql.raw(String(value))
const ofViewer = sql`(SELECT ${viewer.id} FROM ${viewer})`

/** Returns the first posts of a page among candidates, so that only they are joined with what a list shows. */
export const firstPostsSql = (candidates: SQL, rest: (of: PostColumns) => SQL): SQL =>
  sql`(SELECT ${k.id} FROM ${candidates} n CROSS JOIN ${posts} ${k} ON ${k.id} = n.id WHERE ${rest(k)})`

/** Returns the newest posts that a condition on `z` selects: those that "rising" ranks. */
export const risingCandidatesSql = (condition: (of: PostColumns) => SQL): SQL =>
  sql`( ${unfiltered('operator')} SELECT ${z.id} FROM ${posts} ${z} WHERE ${z.deletedAt} IS NULL AND ${condition(z)}
    ORDER BY ${z.createdAt} DESC, ${z.id} DESC LIMIT ${number(risingLimits.candidatesMax)})`

/** The sort key of a list, and the row after which its page begins. */
export interface Following {
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
export function followedCandidatesSql({ keyOf, isByTime, isRising, after, rows }: Following): SQL {
  const key = isRising ? sql`${z.createdAt}` : keyOf(z)
  const isAfter = after ? sql`AND (${key}, ${z.id}) < (${after.key}, ${after.id})` : sql``
  const each = isRising ? number(risingLimits.ofEachMax) : rows
  const inOrder = sql`${isAfter} ORDER BY ${key} DESC, ${z.id} DESC LIMIT ${each}`
  // No index has the posts of an account in every order, so the latest stand for all.
  const latest = sql`ORDER BY ${z.createdAt} DESC, ${z.id} DESC LIMIT ${number(subscriptionLimits.latestMax)}`
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
export const risingSql = (of: PostColumns, now: SQLWrapper): SQL => {
  const hours = sql`((${now} - ${of.createdAt}) / 3600000.0 + 2)`
  return sql`((max(${of.upvotes} - ${of.downvotes}, 0) + ${of.commentCount} + 1) / (${hours} * ${hours}))`
}
