import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { inboxItems } from '../schema/inbox'
import { comments, posts } from '../schema/posts'

/*
 * What may be shown of posts and comments. A statement that reads a title, a text, its HTML or a URL of one has one
 * of these conditions for its table, and one that reads the text of an inbox item has `itemTextSql`. What does not
 * fails in the tests (`tests/support/readable-statements.ts`). Who reads is another condition: `canReadSql`.
 */

type Text = Record<'deletedAt' | 'removalId', SQLWrapper>

/** Whether the words of a post may be shown: its author has not deleted it, and no moderator has removed it. */
export const isPostShownSql = ({ deletedAt }: Pick<Text, 'deletedAt'>): SQL =>
  sql`(/* shown */ ${deletedAt} IS NULL)`

/** Whether a post has a page: its author has not deleted it. Of one that was removed the page has no words. */
export const hasPageSql = ({ deletedAt, removalId }: Text): SQL =>
  sql`(${deletedAt} IS NULL OR ${removalId} IS NOT NULL)`

// The tests know this alias: a statement that looks only here is none over posts and comments.
const gonePost = alias(posts, 'gone_post')
const goneComment = alias(comments, 'gone_comment')

// The indexes are named: they have deleted texts only, so that looking for another one reads no row.
const isPostDeletedSql = (id: SQLWrapper, condition?: SQL): SQL =>
  sql`EXISTS (SELECT 1 FROM ${posts} ${gonePost} INDEXED BY posts_deleted
    WHERE ${gonePost.id} = ${id} AND ${gonePost.deletedAt} IS NOT NULL${condition})`

const isCommentDeletedSql = (id: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${comments} ${goneComment} INDEXED BY comments_deleted
    WHERE ${goneComment.id} = ${id} AND ${goneComment.deletedAt} IS NOT NULL)`

/** Whether the words of a comment may be shown: it is neither deleted nor removed, and its thread has a page. */
export const isCommentShownSql = ({
  deletedAt,
  postId,
}: Record<'deletedAt' | 'postId', SQLWrapper>): SQL =>
  sql`(/* shown */ ${deletedAt} IS NULL
    AND NOT ${isPostDeletedSql(postId, sql` AND ${gonePost.removalId} IS NULL`)})`

/** Types of inbox items that quote a post or comment. */
const quotingTypes = sql.raw(`('mention', 'reply', 'comment', 'thread_update')`)
/** Types of those that are about one. */
const aboutTypes = sql.raw(`('mention', 'reply', 'comment', 'thread_update', 'vote')`)

type Item = Record<'type' | 'postId' | 'commentId' | 'content', SQLWrapper>

/**
 * Whether an inbox item is about a post or comment that was deleted or removed, or that stands below such a post.
 * Nobody is notified of it any more. Notices, such as that of the removal, are no such items.
 */
export const isItemGoneSql = ({ type, postId, commentId }: Omit<Item, 'content'>): SQL =>
  sql`(${type} IN ${aboutTypes} AND (${isPostDeletedSql(postId)} OR ${isCommentDeletedSql(commentId)}))`

/** Whether an inbox item is new for its account: unread, and about nothing that is gone. */
export const isUnreadSql = (item: Omit<Item, 'content'> & { readAt: SQLWrapper }): SQL =>
  sql`(${item.readAt} IS NULL AND NOT ${isItemGoneSql(item)})`

const quotedPost = alias(posts, 'quoted_post')
const quotedComment = alias(comments, 'quoted_comment')

/** Characters of a post or comment that an inbox item quotes. */
const quotedChars = sql.raw('280')

const isQuoteSql = ({ type, postId }: Pick<Item, 'type' | 'postId'>): SQL =>
  sql`(${type} IN ${quotingTypes} AND ${postId} IS NOT NULL)`

/** The text that an inbox item has itself: of a message, a task, a notice. Empty for one that quotes a post or comment. */
export const ownTextSql = (item: Item): SQL<string> =>
  sql<string>`/* item text */ iif(${isQuoteSql(item)}, '', ${item.content})`

/**
 * The text of an inbox item: its own, or the beginning of the post or comment that it quotes as that is now, which is
 * empty when it may not be shown. Who reads the thread has to be checked besides.
 */
export const itemTextSql = (item: Item): SQL<string> => sql<string>`/* item text */ CASE
  WHEN NOT ${isQuoteSql(item)} THEN ${item.content}
  WHEN ${isItemGoneSql(item)} THEN ''
  WHEN ${item.commentId} IS NULL THEN coalesce((
    SELECT substr(coalesce(nullif(${quotedPost.content}, ''), ${quotedPost.title}), 1, ${quotedChars})
    FROM ${posts} ${quotedPost} WHERE ${quotedPost.id} = ${item.postId} AND ${isPostShownSql(quotedPost)}), '')
  ELSE coalesce((SELECT substr(${quotedComment.content}, 1, ${quotedChars})
    FROM ${comments} ${quotedComment} WHERE ${quotedComment.id} = ${item.commentId} AND ${isCommentShownSql(quotedComment)}), '') END`

const answered = alias(inboxItems, 'answered')

/** Whether what a run answers, its thread or its own reply was deleted or removed. */
export const isRunGoneSql = (
  run: Record<'id' | 'postId' | 'replyCommentId', SQLWrapper>,
): SQL => sql`(${isPostDeletedSql(run.postId)} OR ${isCommentDeletedSql(run.replyCommentId)}
  OR EXISTS (SELECT 1 FROM ${inboxItems} ${answered} WHERE ${answered.claimedBy} = ${run.id}
    AND ${isCommentDeletedSql(answered.commentId)}))`
