import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, CommentId, InboxItemId, PostId } from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { tenfoldSeconds } from '../rules/hot-rank'
import { canReadSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { inboxItems } from '../schema/inbox'
import { comments, posts, votes } from '../schema/posts'
import {
  accountOfReaderSql,
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const p = alias(posts, 'p')
const m = alias(comments, 'm')
const a = alias(accounts, 'a')
const v = alias(votes, 'v')

export type VoteValue = -1 | 0 | 1

interface TargetValues {
  reader: Reader
  id: string
}

/** The post or comment to vote on; `commentId` is null for the post itself. */
const targetFields = (
  of: typeof p | typeof m,
  commentId: SQL<CommentId | null>,
  reader: Params<TargetValues>['reader'],
) => ({
  postId: p.id,
  communityId: p.communityId,
  commentId,
  authorId: a.id,
  authorName: a.name,
  authorKind: a.kind,
  upvotes: of.upvotes,
  downvotes: of.downvotes,
  /** The current vote of the reader; 0 for none. */
  value: sql<VoteValue>`coalesce((SELECT ${v.value} FROM ${votes} ${v} WHERE ${v.accountId} = ${accountOfReaderSql(reader)}
    AND ${v.postId} = ${p.id} AND ${v.commentId} = coalesce(${commentId}, '')), 0)`,
})

export type VoteTarget = RowOf<ReturnType<typeof targetFields>>

const selectTargetOf = {
  post: prepare(({ id, reader }: Params<TargetValues>) =>
    oneSql(
      targetFields(p, sql`NULL`, reader),
      sql`FROM ${posts} ${p} JOIN ${accounts} ${a} ON ${a.id} = ${p.authorId}
        WHERE ${p.id} = ${id} AND ${p.deletedAt} IS NULL AND ${canReadSql(p.communityId, reader)}`,
    ),
  ),
  comment: prepare(({ id, reader }: Params<TargetValues>) =>
    oneSql(
      targetFields(m, sql`${m.id}`, reader),
      sql`FROM ${comments} ${m} JOIN ${posts} ${p} ON ${p.id} = ${m.postId}
        JOIN ${accounts} ${a} ON ${a.id} = ${m.authorId}
        WHERE ${m.id} = ${id} AND ${m.deletedAt} IS NULL AND ${p.deletedAt} IS NULL
          AND ${canReadSql(p.communityId, reader)}`,
    ),
  ),
}

export interface VoteOn {
  kind: 'post' | 'comment'
  id: string
}

/** Selects what the reader votes on. */
export const selectTarget = (
  { kind, id }: VoteOn,
  reader: Reader,
): Statement<VoteTarget | undefined> => selectTargetOf[kind]({ id, reader })

interface Vote {
  target: VoteTarget
  voter: AccountId
  value: VoteValue
  itemId: InboxItemId
  now: number
}

interface VoteValues {
  voter: AccountId
  postId: PostId
  /** '' for the post itself. */
  commentId: string
  value: VoteValue
  authorId: AccountId
  itemId: InboxItemId
  now: number
}

const currentVoteSql = ({ voter, postId, commentId }: Params<VoteValues>): SQL =>
  sql`coalesce((SELECT ${v.value} FROM ${votes} ${v}
    WHERE ${v.accountId} = ${voter} AND ${v.postId} = ${postId} AND ${v.commentId} = ${commentId}), 0)`

const isChangedSql = (values: Params<VoteValues>): SQL =>
  sql`${currentVoteSql(values)} <> ${values.value}`

/** The counts of a post or comment after the vote. */
const countsSql = (of: typeof posts | typeof comments, values: Params<VoteValues>) => ({
  upvotes: sql`${of.upvotes} + (${values.value} = 1) - (${currentVoteSql(values)} = 1)`,
  downvotes: sql`${of.downvotes} + (${values.value} = -1) - (${currentVoteSql(values)} = -1)`,
})

/** The SQL form of `computeHotRank`; SQLite's `log` has base 10. */
function hotRankSql(values: Params<VoteValues>): SQL {
  const score = sql`(${posts.upvotes} - ${posts.downvotes} + ${values.value} - ${currentVoteSql(values)})`
  return sql`((${score} > 0) - (${score} < 0)) * log(max(abs(${score}), 1))
    + ${posts.createdAt} / 1000.0 / ${sql.raw(String(tenfoldSeconds))}`
}

const countOnPost = prepare((values: Params<VoteValues>) =>
  write(
    updateSet(
      posts,
      { ...countsSql(posts, values), hotRank: hotRankSql(values) },
      sql`WHERE ${posts.id} = ${values.postId} AND ${isChangedSql(values)}`,
    ),
  ),
)

const countOnComment = prepare((values: Params<VoteValues>) =>
  write(
    updateSet(
      comments,
      countsSql(comments, values),
      sql`WHERE ${comments.id} = ${values.commentId} AND ${isChangedSql(values)}`,
    ),
  ),
)

const updateKarma = prepare((values: Params<VoteValues>) =>
  write(
    updateSet(
      accounts,
      { karma: sql`${accounts.karma} + ${values.value} - ${currentVoteSql(values)}` },
      sql`WHERE ${accounts.id} = ${values.authorId} AND ${isChangedSql(values)}`,
    ),
  ),
)

/**
 * Notifies the author of the score, in one item until they read it. The item does not name the
 * voter, and removing a vote notifies nobody.
 */
const notifyAuthor = prepare((values: Params<VoteValues>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: values.itemId,
        accountId: a.id,
        type: 'vote',
        postId: values.postId,
        commentId: sql`nullif(${values.commentId}, '')`,
        content: sql`printf('Score %d: %d up, %d down', t.up - t.down, t.up, t.down)`,
        createdAt: values.now,
      },
      sql`FROM ${accounts} ${a}, ( ${unfiltered('guarded write')}
          SELECT ${p.upvotes} AS up, ${p.downvotes} AS down FROM ${posts} ${p}
          WHERE ${p.id} = ${values.postId} AND ${values.commentId} = ''
          UNION ALL SELECT ${m.upvotes}, ${m.downvotes} FROM ${comments} ${m}
          WHERE ${m.id} = ${values.commentId}) t
        WHERE ${a.id} = ${values.authorId} AND ${a.kind} <> 'system' AND ${a.isImported} = 0
          AND ${values.value} <> 0 AND ${isChangedSql(values)}
        ON CONFLICT (${bare(inboxItems.accountId)}, ${bare(inboxItems.postId)}, coalesce(${bare(inboxItems.commentId)}, ''))
          WHERE ${bare(inboxItems.type)} = 'vote' AND ${bare(inboxItems.readAt)} IS NULL
        DO UPDATE SET ${bare(inboxItems.content)} = excluded.content,
          ${bare(inboxItems.createdAt)} = excluded.created_at`,
    ),
  ),
)

const saveVote = prepare(({ voter, postId, commentId, value, now }: Params<VoteValues>) =>
  write(
    insertSelect(
      votes,
      { accountId: voter, postId, commentId, value, createdAt: now },
      sql`WHERE true ON CONFLICT DO UPDATE
        SET ${bare(votes.value)} = excluded.value, ${bare(votes.createdAt)} = excluded.created_at
        WHERE ${votes.value} <> excluded.value`,
    ),
  ),
)

const deleteVote = prepare(({ voter, postId, commentId }: Params<VoteValues>) =>
  write(
    sql`DELETE FROM ${votes} WHERE ${votes.accountId} = ${voter} AND ${votes.postId} = ${postId}
      AND ${votes.commentId} = ${commentId}`,
  ),
)

/**
 * Returns the statements that set a vote and update counts, rank, karma and the author's inbox. Each
 * statement counts from the current vote, which is written last, so a repeated vote counts once.
 */
export function voteStatements({ target, voter, value, itemId, now }: Vote): Statement<void>[] {
  const { postId, commentId, authorId } = target
  const values = { voter, postId, commentId: commentId ?? '', value, authorId, itemId, now }
  return [
    commentId === null ? countOnPost(values) : countOnComment(values),
    updateKarma(values),
    notifyAuthor(values),
    value === 0 ? deleteVote(values) : saveVote(values),
  ]
}

const selectVotesOfViewer = prepare((values: Params<ViewerValues & { postId: string }>) =>
  manySql(
    { commentId: votes.commentId, value: votes.value },
    sql`FROM ${votes} WHERE ${votes.accountId} = (SELECT ${viewer.id} FROM ${viewer})
      AND ${votes.postId} = ${values.postId}`,
    viewerCte(values),
  ),
)

/** Selects the viewer's votes in a thread; `commentId` is '' for the post. */
export const selectOwnVotes = (
  credential: Credential | null,
  now: number,
  postId: string,
): Statement<{ commentId: string; value: number }[]> =>
  selectVotesOfViewer({ ...viewerValues(credential, now), postId })
