import { and, eq, getTableColumns, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import type { Keyset } from '../../shared/cursor'
import { flag, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { bare, insertRow, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import { omit } from '../../shared/omit'
import { unfiltered } from '../database/unfiltered-sql'
import { changeStatements, type DeletionRefusal, deletionStatements } from '../inbox/stop-queries'
import { type IndexedText, renderText } from '../markdown/render-text'
import { seenImagesSql } from '../media/queries'
import {
  commentThenFields,
  couldReadSql,
  joinCommentThenSql,
  wasShownSql,
} from '../rules/as-it-was-sql'
import { isUntrustedCommentSql } from '../rules/people-sql'
import { canReadPostSql, canReadSql, isPostReadableSql } from '../rules/readable-sql'
import { hasPageSql, isCommentShownSql } from '../rules/shown-sql'
import { hasExplorersSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { moderationActions } from '../schema/moderation'
import { comments, posts, visits } from '../schema/posts'
import { accountOfReaderSql } from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const m = alias(comments, 'm')
const a = alias(accounts, 'a')
const p = alias(posts, 'p')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
const x = alias(activations, 'x')
const r = alias(moderationActions, 'removal')
const counted = alias(comments, 'counted')
const v = alias(visits, 'v')
const n = alias(comments, 'n')

/** A comment `m` with its author, the account `a`. The content is empty when it may not be shown. */
export const commentFields = {
  ...omit(getTableColumns(m), ['seq', 'hops', 'removalId', 'html', 'htmlVersion', 'searchContent']),
  content: sql<string>`iif(${isCommentShownSql(m)}, ${m.content}, '')`,
  score: number(sql`${m.upvotes} - ${m.downvotes}`),
  authorName: a.name,
  authorKind: a.kind,
  authorDisplayName: a.displayName,
  isUntrusted: isUntrustedCommentSql(m, a),
  /** Why a moderator removed it; null for any other comment. */
  removalReason: sql<
    string | null
  >`(SELECT ${r.reason} FROM ${moderationActions} ${r} WHERE ${r.id} = ${m.removalId})`,
}

export type CommentRow = RowOf<typeof commentFields>

export const commentSorts = ['best', 'top', 'new', 'old', 'controversial'] as const
export type CommentSort = (typeof commentSorts)[number]

interface CommentPage {
  reader: Reader
  postId: string
  limit: number
  /** Comments to leave out at the start of the page. */
  offset: number
}

/** A page of a list in the order of time. */
interface TimedPage extends CommentPage {
  /** Time and id of the last comment of the previous page. */
  afterAt: number
  afterId: string
}

/** A page of a list in the order of votes. */
interface VotedPage extends CommentPage {
  /** For each comment of the thread in the order of writing, `1` when an earlier page had it. */
  seen: string
}

/** A page of a thread as of a time. */
interface Then {
  at: number
}

/** Whether statements read a thread as it is, or as of a time. */
type Tense = 'now' | 'past'

const pageFields = ({ limit, offset }: Params<CommentPage>) => ({
  ...commentFields,
  /** Null for an ancestor that is not on the page itself. */
  position: sql<number | null>`page.position`,
  /** Whether another page follows. */
  hasMore: flag(sql`EXISTS (SELECT 1 FROM taken WHERE position > ${offset} + ${limit})`),
  /** Numbers in the thread of the comments up to the end of the page, in a list by votes. */
  numbers:
    sql`(SELECT json_group_array(number) FROM taken WHERE position <= ${offset} + ${limit})`.mapWith(
      (json): number[] => JSON.parse(json),
    ) as SQL<number[]>,
})

/** A comment of a page. */
export type CommentPageRow = RowOf<ReturnType<typeof pageFields>>

/** Whether a reader reads the thread of a post. */
const canReadThreadSql = (postId: SQLWrapper, reader: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${posts} ${p} WHERE ${p.id} = ${postId} AND ${canReadSql(p.communityId, reader)})`

/** Whether a comment of the thread is on a page: the reader reads it and, as of a time, it was written. */
const isTakenSql = (v: Params<CommentPage & Then>, tense: Tense): SQL =>
  tense === 'now'
    ? canReadThreadSql(v.postId, v.reader)
    : sql`${m.createdAt} <= ${v.at} AND EXISTS (SELECT 1 FROM ${posts} ${p}
        WHERE ${p.id} = ${v.postId} AND ${couldReadSql(p.communityId, v.reader, v.at)})`

/** The comments of a page and their ancestors. @param taken those up to the first after the page */
const selectPage = (v: Params<CommentPage & Then>, taken: SQL, tense: Tense) =>
  manySql(
    {
      ...pageFields(v),
      ...(tense === 'past' && commentThenFields(m, commentFields.removalReason, v.at)),
    },
    sql`FROM tree t JOIN ${comments} ${m} ON ${m.id} = t.id JOIN ${accounts} ${a} ON ${a.id} = ${m.authorId}
      LEFT JOIN page ON page.id = ${m.id} ${tense === 'past' ? joinCommentThenSql(m, v.at) : sql``}
      ORDER BY page.position IS NULL, page.position`,
    sql`WITH RECURSIVE
      taken (id, position, number) AS MATERIALIZED (${taken} LIMIT ${v.offset} + ${v.limit} + 1),
      page (id, position) AS (
        SELECT id, position FROM taken WHERE position > ${v.offset} AND position <= ${v.offset} + ${v.limit}),
      tree (id) AS (
        SELECT id FROM page
        UNION SELECT ${m.parentId} FROM tree t JOIN ${comments} ${m} ON ${m.id} = t.id
        WHERE ${m.parentId} IS NOT NULL)`,
  )

/** By time a page begins after the last comment of the previous one. */
const prepareTimed = (order: SQL, isAfter: SQL, tense: Tense) =>
  prepare((v: Params<TimedPage & Then>) =>
    selectPage(
      v,
      sql`SELECT ${m.id}, row_number() OVER (ORDER BY ${order}), 0 FROM ${comments} ${m}
        WHERE ${m.postId} = ${v.postId} AND ${isTakenSql(v, tense)}
          AND (${m.createdAt}, ${m.id}) ${isAfter} (${v.afterAt}, ${v.afterId}) ORDER BY ${order}`,
      tense,
    ),
  )

/**
 * By votes a page has the first comments that no earlier page had: votes between two pages move comments past any
 * place in the order. A comment keeps its number, because none is ever removed from the table.
 */
const prepareVoted = (order: SQL, tense: Tense) =>
  prepare((v: Params<VotedPage & Then>) =>
    selectPage(
      v,
      sql`SELECT ${m.id}, row_number() OVER (ORDER BY ${order}), ${m}.number FROM (
          SELECT ${m}.*, row_number() OVER (ORDER BY ${m.seq}) AS number FROM ${comments} ${m}
          WHERE ${m.postId} = ${v.postId} AND ${isTakenSql(v, tense)}) ${m}
        WHERE ${m}.number <= ${sql.raw(String(limits.page.votedCommentsMax))} AND substr(${v.seen}, ${m}.number, 1) <> '1'
        ORDER BY ${order}`,
      tense,
    ),
  )

const prepareTimedLists = (tense: Tense) => ({
  new: prepareTimed(sql`${m.createdAt} DESC, ${m.id} DESC`, sql`<`, tense),
  old: prepareTimed(sql`${m.createdAt}, ${m.id}`, sql`>`, tense),
})
const timedLists = { now: prepareTimedLists('now'), past: prepareTimedLists('past') }

/** Where the lists by time begin: no comment is before. */
const beginnings: Record<keyof typeof timedLists.now, Keyset> = {
  new: [Number.MAX_SAFE_INTEGER, ''],
  old: [Number.MIN_SAFE_INTEGER, ''],
}

const prepareVotedLists = (tense: Tense) => ({
  best: prepareVoted(sql`(${m.upvotes} - ${m.downvotes}) DESC, ${m.createdAt}, ${m.id}`, tense),
  top: prepareVoted(sql`${m.upvotes} DESC, ${m.createdAt}, ${m.id}`, tense),
  controversial: prepareVoted(
    sql`min(${m.upvotes}, ${m.downvotes}) DESC, ${m.createdAt}, ${m.id}`,
    tense,
  ),
})
const votedLists = { now: prepareVotedLists('now'), past: prepareVotedLists('past') }

/** A list of comments: its order, and what the page before it ended with. */
export type CommentList =
  | { sort: keyof typeof timedLists.now; after: Keyset | null }
  | { sort: keyof typeof votedLists.now; seen: string }

/**
 * Selects `limit` comments of a thread in the given order, and all their ancestors, so that they
 * form complete trees. As of a time an order by votes is by those of today.
 */
export function selectComments(
  postId: string,
  list: CommentList,
  {
    at,
    offset = 0,
    ...page
  }: { reader: Reader; limit: number; offset?: number | undefined; at?: number | undefined },
): Statement<CommentPageRow[]> {
  const tense = at === undefined ? 'now' : 'past'
  const request = { postId, ...page, offset, at: at ?? 0 }
  if ('seen' in list) return votedLists[tense][list.sort]({ ...request, seen: list.seen })
  const [afterAt, afterId] = list.after ?? beginnings[list.sort]
  return timedLists[tense][list.sort]({ ...request, afterAt, afterId })
}

/** Selects the id of a post whose thread the reader read then, and reads today. */
export const selectThreadThen = prepare(
  ({ id, reader, at }: Params<{ id: string; reader: Reader; at: number }>) =>
    oneSql(
      { id: p.id },
      sql`FROM ${posts} ${p} WHERE ${p.id} = ${id} AND ${p.createdAt} <= ${at} AND ${hasPageSql(p)}
        AND ${couldReadSql(p.communityId, reader, at)}`,
    ),
)

/** Counts the comments of a thread as of a time. */
export const countCommentsThen = prepare(
  ({ id, reader, at }: Params<{ id: string; reader: Reader; at: number }>) =>
    oneSql(
      { comments: sql<number>`count(*)` },
      sql`FROM ${comments} ${counted} JOIN ${posts} ${p} ON ${p.id} = ${counted.postId}
        WHERE ${counted.postId} = ${id} AND ${counted.createdAt} <= ${at} AND ${isCommentShownSql(counted)}
          AND ${wasShownSql({ postId: counted.postId, commentId: counted.id }, at)} AND ${couldReadSql(p.communityId, reader, at)}`,
    ),
)

/** Selects the id of a post whose thread the reader reads. */
export const selectThread = prepare(({ id, reader }: OneValues) =>
  oneSql(
    { id: p.id },
    sql`FROM ${posts} ${p} WHERE ${p.id} = ${id} AND ${hasPageSql(p)} AND ${canReadSql(p.communityId, reader)}`,
  ),
)

/** Newest comments of a run's thread, besides the ancestors of the comments that mention the agent. */
const newestOfRunMax = 50

interface OfRun {
  activationId: ActivationId
  reader: Reader
}

/** Selects the comments that an activation starts with: those that it answers with their ancestors, and the newest. */
export const selectCommentsOfRun = prepare(({ activationId, reader }: Params<OfRun>) =>
  manySql(
    { ...commentFields, images: seenImagesSql(m) },
    sql`FROM ${comments} ${m} JOIN ${accounts} ${a} ON ${a.id} = ${m.authorId}
      WHERE ${m.id} IN (SELECT id FROM path UNION SELECT id FROM newest) AND ${isCommentShownSql(m)}
        AND ${canReadPostSql(m.postId, reader)}`,
    sql`WITH RECURSIVE path (id, parent_id) AS (
      SELECT ${m.id}, ${m.parentId} FROM ${inboxItems} ${i} JOIN ${comments} ${m} ON ${m.id} = ${i.commentId}
        WHERE ${i.claimedBy} = ${activationId}
      UNION SELECT ${m.id}, ${m.parentId} FROM path JOIN ${comments} ${m} ON ${m.id} = path.parent_id
    ), newest (id) AS (
      SELECT ${m.id} FROM ${activations} ${x} JOIN ${comments} ${m} ON ${m.postId} = ${x.postId}
        WHERE ${x.id} = ${activationId} AND ${m.deletedAt} IS NULL
        ORDER BY ${m.createdAt} DESC, ${m.id} DESC LIMIT ${newestOfRunMax}
    )`,
  ),
)

type OneValues = Params<{ id: string; reader: Reader }>

/** Selects one comment that the reader reads, with the community that it is in, to change it. */
export const selectOwnComment = prepare(({ id, reader }: OneValues) =>
  oneSql(
    { ...commentFields, communityId: p.communityId },
    sql`FROM ${comments} ${m} JOIN ${accounts} ${a} ON ${a.id} = ${m.authorId}
      JOIN ${posts} ${p} ON ${p.id} = ${m.postId}
      WHERE ${m.id} = ${id} AND ${isCommentShownSql(m)} AND ${isPostReadableSql(p, reader)}`,
  ),
)

/** Selects one comment that the reader reads, unless it or its post was deleted by its author; one removed has no text. */
export const selectComment = prepare(({ id, reader }: OneValues) =>
  oneSql(
    commentFields,
    sql`FROM ${comments} ${m} JOIN ${accounts} ${a} ON ${a.id} = ${m.authorId}
      JOIN ${posts} ${p} ON ${p.id} = ${m.postId}
      WHERE ${m.id} = ${id} AND (${m.deletedAt} IS NULL OR ${m.removalId} IS NOT NULL)
        AND ${hasPageSql(p)} AND ${canReadSql(p.communityId, reader)}`,
  ),
)

const parentPostFields = {
  id: p.id,
  communityId: p.communityId,
  isLocked: p.isLocked,
  authorId: p.authorId,
  isHosted: flag(sql`EXISTS (SELECT 1 FROM ${agents} ${g} WHERE ${g.accountId} = ${p.authorId})`),
  /** Whether an agent was asked in the thread. */
  hasRuns: flag(sql`EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.postId} = ${p.id})`),
  createdAt: p.createdAt,
  hasExplorers: hasExplorersSql,
}

/** The post that a new comment replies to. */
export type ParentPost = RowOf<typeof parentPostFields>

export const selectParentPost = prepare(({ id, reader }: OneValues) =>
  oneSql(
    parentPostFields,
    sql`FROM ${posts} ${p}
      WHERE ${p.id} = ${id} AND ${isPostReadableSql(p, reader)}`,
  ),
)

const parentCommentFields = {
  id: m.id,
  parentId: m.parentId,
  depth: m.depth,
  authorId: m.authorId,
  isHosted: flag(sql`EXISTS (SELECT 1 FROM ${agents} ${g} WHERE ${g.accountId} = ${m.authorId})`),
}

/** The comment that a new comment replies to. */
export type ParentComment = RowOf<typeof parentCommentFields>

export const selectParentComment = prepare(
  ({ id, postId }: Params<{ id: string; postId: string }>) =>
    oneSql(
      parentCommentFields,
      sql`FROM ${comments} ${m} ${unfiltered('guarded write')}
      WHERE ${m.id} = ${id} AND ${m.postId} = ${postId} AND ${m.deletedAt} IS NULL`,
    ),
)

type NewComment = Omit<typeof comments.$inferSelect, 'seq' | keyof IndexedText>

/** Inserts a comment with its content rendered. */
export const insertComment = prepare((comment: Params<NewComment & IndexedText>) =>
  write(insertRow(comments, comment, ['seq'])),
)

/** A comment and its thread. */
type CommentRef = Pick<NewComment, 'id' | 'postId'>

export const incrementCommentCount = prepare(({ postId }: Params<{ postId: PostId }>) =>
  write(
    updateSet(
      posts,
      { commentCount: sql`${posts.commentCount} + 1` },
      sql`WHERE ${posts.id} = ${postId}`,
    ),
  ),
)

export const updateComment = (
  { id, postId }: CommentRef,
  content: string,
  now: number,
): Statement<void>[] => [
  write(
    orm
      .update(comments)
      .set({ content, editedAt: now, ...renderText('comments', { id, content }).columns })
      .where(and(eq(comments.id, id), isNull(comments.deletedAt))),
  ),
  changeStatements({ postId, commentId: id }),
]

const decrementCommentCount = prepare(({ id }: Params<{ id: CommentId }>) =>
  write(
    updateSet(
      posts,
      { commentCount: sql`max(0, ${posts.commentCount} - 1)` },
      sql`WHERE ${posts.id} = (SELECT ${m.postId} FROM ${comments} ${m} ${unfiltered('counter')}
        WHERE ${m.id} = ${id} AND ${m.deletedAt} IS NULL)`,
    ),
  ),
)

/**
 * Marks a comment as deleted, subtracts it from its post's count, and ends what waits for an answer to it; repeating
 * changes nothing. Its replies stay.
 */
export const deleteComment = (
  { id, postId }: CommentRef,
  now: number,
  refusal: DeletionRefusal = 'content_deleted',
): Statement<void>[] => [
  decrementCommentCount({ id }),
  write(
    orm
      .update(comments)
      .set({ deletedAt: now })
      .where(and(eq(comments.id, id), isNull(comments.deletedAt))),
  ),
  ...deletionStatements({ postId, commentId: id }, { now, refusal }),
]

/** Up to where an account has read a thread. */
export interface Visit {
  /** When the newest reply was written that a page has shown to it. */
  seenAt: number
  /** The first reply of somebody else after that; null when there is none. */
  firstUnreadId: CommentId | null
}

/** Replies among which the first of somebody else is looked for: the account's own come first. */
const lookedAtMax = 50

/** Selects up to where the account of a reader has read a thread; nothing before its first visit. */
export const selectVisit: (of: { postId: string; reader: Reader }) => Statement<Visit | undefined> =
  prepare(({ postId, reader }: Params<{ postId: string; reader: Reader }>) =>
    oneSql(
      {
        seenAt: v.seenAt,
        firstUnreadId: sql<CommentId | null>`(SELECT next.id FROM (
            SELECT ${n.id}, ${n.authorId}, ${n.deletedAt} FROM ${comments} ${n}
            WHERE ${n.postId} = ${v.postId} AND ${n.createdAt} > ${v.seenAt} AND ${canReadPostSql(v.postId, reader)}
            ORDER BY ${n.createdAt}, ${n.id} LIMIT ${sql.raw(String(lookedAtMax))}) next
          WHERE next.author_id <> ${v.accountId} AND next.deleted_at IS NULL LIMIT 1)`,
      },
      sql`FROM ${visits} ${v} WHERE ${v.accountId} = ${accountOfReaderSql(reader)} AND ${v.postId} = ${postId}`,
    ),
  )

interface Seen {
  accountId: AccountId
  postId: PostId
  seenAt: number
}

/** Saves up to where an account has read a thread. An older page of it changes nothing. */
export const saveVisit: (of: Seen) => Statement<void> = prepare((of: Params<Seen>) =>
  write(
    sql`INSERT INTO ${visits} (${bare(visits.accountId)}, ${bare(visits.postId)}, ${bare(visits.seenAt)})
      VALUES (${of.accountId}, ${of.postId}, ${of.seenAt})
      ON CONFLICT (${bare(visits.accountId)}, ${bare(visits.postId)}) DO UPDATE
        SET ${bare(visits.seenAt)} = excluded.${bare(visits.seenAt)}
        WHERE excluded.${bare(visits.seenAt)} > ${visits.seenAt}`,
  ),
)
