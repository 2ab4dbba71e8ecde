import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect, newIdSql, updateSet } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId, PostId } from '../../shared/ids'
import { deleteComment } from '../comments/queries'
import { unfiltered } from '../database/unfiltered-sql'
import type { Content } from '../inbox/stop-queries'
import { deletePost } from '../posts/queries'
import { accounts } from '../schema/accounts'
import { bans, communities } from '../schema/communities'
import { inboxItems } from '../schema/inbox'
import { appeals, contentReports, moderationActions } from '../schema/moderation'
import { comments, posts } from '../schema/posts'

const a = alias(accounts, 'a')
const p = alias(posts, 'p')
const m = alias(comments, 'm')
const r = alias(contentReports, 'r')

export const insertAction = (action: typeof moderationActions.$inferInsert): Statement<void> =>
  write(orm.insert(moderationActions).values(action))

export const insertReport = (report: typeof contentReports.$inferInsert): Statement<void> =>
  write(orm.insert(contentReports).values(report))

export const insertAppeal = (appeal: typeof appeals.$inferInsert): Statement<void> =>
  write(orm.insert(appeals).values(appeal))

interface Removal extends Content {
  removalId: string
}

const markPost = prepare(({ postId, removalId }: Params<Removal>) =>
  write(updateSet(posts, { removalId, pinnedAt: null }, sql`WHERE ${posts.id} = ${postId}`)),
)

const markComment = prepare(({ commentId, removalId }: Params<Removal>) =>
  write(updateSet(comments, { removalId }, sql`WHERE ${comments.id} = ${commentId}`)),
)

/** Removes a post or a comment: it counts as deleted, and refers to the action. */
export const removeContent = (removal: Removal, now: number): Statement<void>[] => {
  const { postId, commentId } = removal
  return commentId === null
    ? [...deletePost(postId, now, 'content_removed'), markPost(removal)]
    : [...deleteComment({ id: commentId, postId }, now, 'content_removed'), markComment(removal)]
}

const countPostAgain = prepare(({ postId, removalId }: Params<Removal>) =>
  write(
    updateSet(
      communities,
      { postCount: sql`${communities.postCount} + 1` },
      sql`WHERE ${communities.id} = (SELECT ${p.communityId} FROM ${posts} ${p} ${unfiltered('counter')}
        WHERE ${p.id} = ${postId} AND ${p.removalId} = ${removalId})`,
    ),
  ),
)

const restorePost = prepare(({ postId, removalId }: Params<Removal>) =>
  write(
    updateSet(
      posts,
      { deletedAt: null, removalId: null },
      sql`WHERE ${posts.id} = ${postId} AND ${posts.removalId} = ${removalId}`,
    ),
  ),
)

const countCommentAgain = prepare(({ commentId, removalId }: Params<Removal>) =>
  write(
    updateSet(
      posts,
      { commentCount: sql`${posts.commentCount} + 1` },
      sql`WHERE ${posts.id} = (SELECT ${m.postId} FROM ${comments} ${m} ${unfiltered('counter')}
        WHERE ${m.id} = ${commentId} AND ${m.removalId} = ${removalId})`,
    ),
  ),
)

const restoreComment = prepare(({ commentId, removalId }: Params<Removal>) =>
  write(
    updateSet(
      comments,
      { deletedAt: null, removalId: null },
      sql`WHERE ${comments.id} = ${commentId} AND ${comments.removalId} = ${removalId}`,
    ),
  ),
)

/** Restores what one removal removed; changes nothing when it was restored before. */
export const restoreContent = (removal: Removal): Statement<void>[] =>
  removal.commentId === null
    ? [countPostAgain(removal), restorePost(removal)]
    : [countCommentAgain(removal), restoreComment(removal)]

export const lockPost = (postId: PostId, isLocked: boolean): Statement<void> =>
  write(updateSet(posts, { isLocked }, sql`WHERE ${posts.id} = ${postId}`))

/** @param pinnedAt null: no longer pinned */
export const pinPost = (postId: PostId, pinnedAt: number | null): Statement<void> =>
  write(updateSet(posts, { pinnedAt }, sql`WHERE ${posts.id} = ${postId}`))

/** Ends a mute or a ban; changes nothing when it was lifted before. */
export const liftBan = (id: string, now: number): Statement<void> =>
  write(
    updateSet(bans, { liftedAt: now }, sql`WHERE ${bans.id} = ${id} AND ${bans.liftedAt} IS NULL`),
  )

interface Notice extends Content {
  id: InboxItemId
  to: AccountId
  /** The moderator. */
  from: AccountId
  text: string
  now: number
}

const preparedNotice = prepare((v: Params<Notice>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: v.id,
        accountId: a.id,
        type: 'system',
        postId: v.postId,
        commentId: v.commentId,
        fromAccountId: v.from,
        content: v.text,
        createdAt: v.now,
      },
      sql`FROM ${accounts} ${a} WHERE ${a.id} = ${v.to} AND ${a.id} <> ${v.from} AND ${a.kind} <> 'system' AND ${a.isImported} = 0`,
    ),
  ),
)

/** Notifies an account of what a moderator did; nobody of what they did themselves. */
export const insertNotice = (notice: Omit<Notice, 'postId'> & { postId: PostId | null }) =>
  preparedNotice(notice as Notice)

interface Closing extends Content {
  id: InboxItemId
  outcome: NonNullable<typeof contentReports.$inferSelect.outcome>
  reason: string
  closedBy: AccountId
  text: string
  now: number
}

const isOpenReportSql = (
  of: Pick<typeof contentReports, 'postId' | 'commentId' | 'closedAt'> | typeof r,
  { postId, commentId }: Params<Content>,
): SQL =>
  sql`${of.postId} = ${postId} AND ${of.commentId} = coalesce(${commentId}, '') AND ${of.closedAt} IS NULL`

const notifyReporters = prepare((v: Params<Closing>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.id),
        accountId: r.accountId,
        type: 'system',
        postId: v.postId,
        commentId: v.commentId,
        fromAccountId: v.closedBy,
        content: v.text,
        createdAt: v.now,
      },
      sql`FROM ${contentReports} ${r} WHERE ${isOpenReportSql(r, v)} AND ${r.accountId} <> ${v.closedBy}`,
    ),
  ),
)

const closeOpenReports = prepare((v: Params<Closing>) =>
  write(
    updateSet(
      contentReports,
      { outcome: v.outcome, outcomeReason: v.reason, closedBy: v.closedBy, closedAt: v.now },
      sql`WHERE ${isOpenReportSql(contentReports, v)}`,
    ),
  ),
)

/** Closes the open reports of a post or a comment, and notifies whoever made them. */
export const closeReports = (closing: Closing): Statement<void>[] => [
  notifyReporters(closing),
  closeOpenReports(closing),
]

interface Decision {
  actionId: string
  outcome: 'upheld' | 'reversed'
  reason: string
  decidedBy: AccountId
  now: number
}

export const decideAppealStatement = ({ actionId, now, ...decision }: Decision): Statement<void> =>
  write(
    updateSet(
      appeals,
      { ...decision, decidedAt: now },
      sql`WHERE ${appeals.actionId} = ${actionId} AND ${appeals.outcome} IS NULL`,
    ),
  )
