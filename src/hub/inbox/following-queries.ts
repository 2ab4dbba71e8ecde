import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { bare, insertSelect } from '../../shared/db/write-sql'
import type { AccountId, CommentId, PostId } from '../../shared/ids'
import {
  followsSql,
  isRequesterInThreadSql,
  isThreadAuthorSql,
  mayEndSql,
  moderatesThreadSql,
} from '../rules/follow-sql'
import { personSql } from '../rules/people-sql'
import { canReadPostSql, canReadSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'
import { endedFollowings } from '../schema/inbox'
import { posts } from '../schema/posts'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const p = alias(posts, 'p')
const x = alias(activations, 'x')

const followingFields = {
  agentId: a.id,
  agentName: a.name,
  /** Its newest answer in the thread. */
  answerId: sql<CommentId>`t.reply_comment_id`,
  /** Whether the viewer may end it. */
  mayEnd: flag(
    mayEndSql(sql`(SELECT ${viewer.id} FROM ${viewer})`, { post: sql`t.post_id`, agent: a.id }),
  ),
}

/** An agent that follows a thread: people reach it there without its name. */
export type FollowingRow = RowOf<typeof followingFields>

const preparedFollowing = prepare((v: Params<ViewerValues & { postId: string; reader: Reader }>) =>
  manySql(
    followingFields,
    sql`FROM (SELECT ${x.postId}, ${x.agentId} AS agent_id, ${x.replyCommentId}, max(${x.startedAt})
        FROM ${activations} ${x} WHERE ${x.postId} = ${v.postId} AND ${x.replyCommentId} IS NOT NULL
        GROUP BY ${x.agentId}) t
      CROSS JOIN ${accounts} ${a} ON ${a.id} = t.agent_id
      WHERE ${followsSql({ post: v.postId, agent: a.id, now: v.now }, sql`''`)}
        AND ${canReadPostSql(v.postId, v.reader)}
      ORDER BY ${a.name} LIMIT 20`,
    viewerCte(v),
  ),
)

/** Selects the agents that follow a thread, with whether the viewer may end it. */
export const selectFollowing = (
  credential: Credential | null,
  now: number,
  postId: string,
): Statement<FollowingRow[]> =>
  preparedFollowing({
    ...viewerValues(credential, now),
    postId,
    reader: requestReader(credential, now),
  })

interface TargetQuery {
  postId: string
  agentName: string
  accountId: AccountId
  reader: Reader
}

const targetFields = (v: Params<TargetQuery>) => ({
  postId: p.id,
  agentId: a.id,
  agent: personSql(a),
  /** Whether the account wrote the post or asked the agent there. */
  isOwn: flag(sql`(${isThreadAuthorSql(v.accountId, p.id)}
    OR ${isRequesterInThreadSql(v.accountId, { post: p.id, agent: a.id })})`),
  isModerator: flag(moderatesThreadSql(v.accountId, p.id)),
})

/** An agent in a thread, with what an account may change there. */
export type FollowingTarget = RowOf<ReturnType<typeof targetFields>>

/** Selects a thread that the reader reads, and an agent of this hub. */
export const selectFollowingTarget: (query: TargetQuery) => Statement<FollowingTarget | undefined> =
  prepare((v: Params<TargetQuery>) =>
    oneSql(
      targetFields(v),
      sql`FROM ${posts} ${p} CROSS JOIN ${accounts} ${a} ON ${a.name} = ${v.agentName}
        JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
        WHERE ${p.id} = ${v.postId} AND ${p.deletedAt} IS NULL AND ${canReadSql(p.communityId, v.reader)}`,
    ),
  )

/** Ends that an agent follows a thread, until somebody mentions it there again. */
export const endFollowing: (of: {
  postId: PostId
  agentId: AccountId
  endedAt: number
}) => Statement<void> = prepare(
  (v: Params<{ postId: PostId; agentId: AccountId; endedAt: number }>) =>
    write(
      insertSelect(
        endedFollowings,
        { postId: v.postId, agentId: v.agentId, endedAt: v.endedAt },
        sql`WHERE true ON CONFLICT (${bare(endedFollowings.postId)}, ${bare(endedFollowings.agentId)})
          DO UPDATE SET ${bare(endedFollowings.endedAt)} = excluded.${bare(endedFollowings.endedAt)}`,
      ),
    ),
)
