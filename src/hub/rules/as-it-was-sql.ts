import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { sharedTable } from '../../shared/db/compile-sql'
import { flag, nullable } from '../../shared/db/fields'
import { accounts } from '../schema/accounts'
import { communities, communityMembers, pastAccess } from '../schema/communities'
import { moderationActions } from '../schema/moderation'
import { textVersions } from '../schema/posts'
import { canReadSql, readersSql } from './readable-sql'
import { isCommentShownSql, isPostShownSql } from './shown-sql'

/*
 * The hub as it was. `at` is a time in milliseconds; what happened in that millisecond had happened. Every statement
 * also has the conditions of today, so that a text that was deleted or removed since, or whose community the reader
 * does not read any more, is shown as little as without `at`.
 */

const k = alias(communities, 'then_community')
const h = alias(pastAccess, 'past')
const m = alias(communityMembers, 'listed_then')
const a = alias(accounts, 'account_then')
const w = alias(textVersions, 'w')
const x = alias(moderationActions, 'action_then')

/** What a community's visibility or an account's role was. */
const valueThenSql = (owner: SQLWrapper, now: SQLWrapper, at: SQLWrapper): SQL =>
  sql`coalesce((SELECT ${h.value} FROM ${pastAccess} ${h} WHERE ${h.ownerId} = ${owner} AND ${h.accountId} = ''
    AND ${h.until} > ${at} ORDER BY ${h.until} LIMIT 1), ${now})`

const wasMemberSql = (community: SQLWrapper, account: SQLWrapper, at: SQLWrapper): SQL =>
  sql`(EXISTS (SELECT 1 FROM ${communityMembers} ${m} WHERE ${m.communityId} = ${community}
      AND ${m.accountId} = ${account} AND ${m.createdAt} <= ${at})
    OR EXISTS (SELECT 1 FROM ${pastAccess} ${h} WHERE ${h.ownerId} = ${community}
      AND ${h.accountId} = ${account} AND ${h.since} <= ${at} AND ${h.until} > ${at}))`

const wasHubMemberSql = (account: { id: SQLWrapper; role: SQLWrapper }, at: SQLWrapper): SQL =>
  sql`(${valueThenSql(account.id, account.role, at)} IN ('member', 'admin')
    AND EXISTS (SELECT 1 FROM ${accounts} ${a} WHERE ${a.id} = ${account.id} AND ${a.createdAt} <= ${at}))`

/** The communities that a reader did not read, for FROM: `id`. Reads those that are not public, and were not. */
const unreadableThenSql = (reader: SQLWrapper, at: SQLWrapper): SQL => {
  const one = { id: sql`r.id`, role: sql`r.role` }
  return sharedTable(
    'unreadable_then',
    'id',
    sql`${reader} ${at}`,
    () => sql`SELECT n.id FROM (
      SELECT ${k.id} AS id, ${valueThenSql(k.id, k.visibility, at)} AS visibility FROM ${communities} ${k}
      WHERE ${k.id} IN (SELECT ${communities.id} FROM ${communities} INDEXED BY communities_not_public
          WHERE ${communities.visibility} <> 'public'
        UNION SELECT ${h.ownerId} FROM ${pastAccess} ${h} INDEXED BY past_access_closed
          WHERE ${h.value} IN ('members', 'private'))) n
    WHERE n.visibility <> 'public' AND NOT coalesce((SELECT min(
      (n.visibility = 'members' AND ${wasHubMemberSql(one, at)}) OR ${wasMemberSql(sql`n.id`, one.id, at)})
      FROM ${readersSql(reader)} r), 0)`,
  )
}

/** Whether a reader read a community's posts then, and reads them today. */
export const couldReadSql = (community: SQLWrapper, reader: SQLWrapper, at: SQLWrapper): SQL =>
  sql`(${canReadSql(community, reader)}
    AND ${community} NOT IN (SELECT id FROM ${unreadableThenSql(reader, at)}))`

type Text = Readonly<
  Record<'id' | 'content' | 'createdAt' | 'editedAt' | 'deletedAt' | 'removalId', SQLWrapper>
>
type PostText = Text & Readonly<Record<'title' | 'url' | 'isLocked', SQLWrapper>>
type CommentText = Text & Readonly<Record<'postId', SQLWrapper>>

/** The tables that a statement joins for what its posts were, or its comments: it can do both. */
const joinedAs = (name: string) => ({
  v: alias(textVersions, `${name}_version_then`),
  r: alias(moderationActions, `${name}_removal_then`),
})
type Joined = ReturnType<typeof joinedAs>

const postJoin = joinedAs('post')
const commentJoin = joinedAs('comment')

interface Place {
  postId: SQLWrapper
  /** Null for the post itself. */
  commentId: SQLWrapper | null
}

/** A column of the last action of these kinds on a post or comment until then. */
const lastActionSql = (
  column: SQLWrapper,
  { postId, commentId }: Place,
  kinds: readonly (typeof moderationActions.$inferSelect.kind)[],
  at: SQLWrapper,
): SQL =>
  sql`(SELECT ${column} FROM ${moderationActions} ${x} WHERE ${x.postId} = ${postId} AND ${x.commentId} IS ${commentId}
    AND ${x.kind} IN (${sql.raw(kinds.map((kind) => `'${kind}'`).join(', '))}) AND ${x.createdAt} <= ${at}
    ORDER BY ${x.createdAt} DESC, ${x.id} DESC LIMIT 1)`

/** Whether no moderator had removed a post or comment then, where its row is not joined. */
export const wasShownSql = (place: Place, at: SQLWrapper): SQL =>
  sql`coalesce(${lastActionSql(x.kind, place, ['remove', 'restore'], at)}, '') <> 'remove'`

/** Joins what a post or comment said then, and the action that had removed it. */
const joinThenSql = ({ v, r }: Joined, place: Place, of: Text, at: SQLWrapper): SQL =>
  sql`LEFT JOIN ${textVersions} ${v} ON ${v.seq} = (SELECT max(${w.seq}) FROM ${textVersions} ${w}
      WHERE ${of.editedAt} > ${at} AND ${w.postId} = ${place.postId} AND ${w.commentId} = ${place.commentId ?? sql`''`}
        AND ${w.writtenAt} <= ${at} AND ${w.replacedAt} > ${at})
    LEFT JOIN ${moderationActions} ${r} ON ${r.kind} = 'remove'
      AND ${r.id} = ${lastActionSql(x.id, place, ['remove', 'restore'], at)}`

export const joinPostThenSql = (post: PostText, at: SQLWrapper): SQL =>
  joinThenSql(postJoin, { postId: post.id, commentId: null }, post, at)

export const joinCommentThenSql = (comment: CommentText, at: SQLWrapper): SQL =>
  joinThenSql(commentJoin, { postId: comment.postId, commentId: comment.id }, comment, at)

/** Whether no moderator had removed the post then, behind `joinPostThenSql`. */
export const wasNotRemovedSql: SQL = sql`${postJoin.r.id} IS NULL`

/** Text in place of a version that was deleted because there were too many. */
const lostText = sql.raw(`'[version not kept]'`)

const wasEditedSinceSql = (of: Text, at: SQLWrapper): SQL =>
  sql`coalesce(${of.editedAt} > ${at}, 0)`

/** What a column said then: of the present text, of a version, or that this version was not kept. */
const saidSql = (
  { v }: Joined,
  of: Text,
  at: SQLWrapper,
  { now, kept, lost }: Record<'now' | 'kept' | 'lost', SQLWrapper>,
): SQL =>
  sql`CASE WHEN NOT ${wasEditedSinceSql(of, at)} THEN ${now} WHEN ${v.seq} IS NULL THEN ${lost} ELSE ${kept} END`

const isShownSql = ({ r }: Joined, isShownNow: SQL): SQL => sql`(${isShownNow} AND ${r.id} IS NULL)`

/** When the text had been edited last. */
const editedThenSql = (joined: Joined, of: Text, at: SQLWrapper): SQL<number | null> =>
  sql<number | null>`nullif(${saidSql(joined, of, at, {
    now: sql`${of.editedAt}`,
    kept: joined.v.writtenAt,
    lost: sql`NULL`,
  })}, ${of.createdAt})`

/** Why a moderator has removed it, or had; null for what its author deleted. */
const reasonSql = ({ r }: Joined, of: Text, reasonNow: SQLWrapper): SQL<string | null> =>
  sql<
    string | null
  >`iif(${of.deletedAt} IS NULL OR ${of.removalId} IS NOT NULL, coalesce(${r.reason}, ${reasonNow}), NULL)`

/**
 * Fields of a post that differ from those of today, behind `joinPostThenSql`.
 *
 * @param removedTitle stands in place of the title of a removed post
 */
export const postThenFields = (
  post: PostText,
  reasonNow: SQLWrapper,
  removedTitle: SQLWrapper,
  at: SQLWrapper,
) => {
  const { v } = postJoin
  const place = { postId: post.id, commentId: null }
  const isShown = isShownSql(postJoin, isPostShownSql(post))
  const said = (now: SQLWrapper, kept: SQLWrapper, lost: SQLWrapper) =>
    saidSql(postJoin, post, at, { now, kept, lost })
  const next = sql`(SELECT ${x.kind} = 'unlock' FROM ${moderationActions} ${x} WHERE ${x.postId} = ${post.id}
    AND ${x.kind} IN ('lock', 'unlock') AND ${x.createdAt} > ${at} ORDER BY ${x.createdAt}, ${x.id} LIMIT 1)`
  return {
    title: sql<string>`iif(${isShown}, ${said(post.title, v.title, lostText)}, ${removedTitle})`,
    content: sql<string>`iif(${isShown}, ${said(post.content, v.content, lostText)}, '')`,
    url: sql<string | null>`iif(${isShown}, ${said(post.url, v.url, sql`NULL`)}, NULL)`,
    editedAt: editedThenSql(postJoin, post, at),
    // The next change says what was before it; without one it is as today.
    isLocked: flag(sql`coalesce(${next}, ${post.isLocked})`),
    // A removal also unpins.
    isPinned: flag(
      sql`coalesce(${lastActionSql(x.kind, place, ['pin', 'unpin', 'remove'], at)} = 'pin', 0)`,
    ),
    removalReason: reasonSql(postJoin, post, reasonNow),
  }
}

/** Fields of a comment that differ from those of today, behind `joinCommentThenSql`. */
export const commentThenFields = (comment: CommentText, reasonNow: SQLWrapper, at: SQLWrapper) => {
  const { v, r } = commentJoin
  const said = saidSql(commentJoin, comment, at, {
    now: comment.content,
    kept: v.content,
    lost: lostText,
  })
  return {
    content: sql<string>`iif(${isShownSql(commentJoin, isCommentShownSql(comment))}, ${said}, '')`,
    editedAt: editedThenSql(commentJoin, comment, at),
    deletedAt: nullable(sql<number | null>`coalesce(${comment.deletedAt}, ${r.createdAt})`),
    removalReason: reasonSql(commentJoin, comment, reasonNow),
  }
}
