import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import { accounts } from '../accounts/schema'
import { comments } from '../comments/schema'
import { inboxItems } from '../inbox/schema'
import { posts } from '../posts/schema'
import {
  alreadyAnsweredLimitSql,
  dailyLimitSql,
  externalHopsSql,
  hasUnansweredPersonSql,
  hopsOfActivationSql,
  intervalLimitSql,
  isForPersonSql,
  threadLimitSql,
} from './reply-limit-sql'
import { replyLimitGuard } from './schema'

/** A post or comment that an agent is about to write; `now` is in milliseconds since the Unix epoch. */
export interface AgentWrite {
  agentId: AccountId
  /** Null for an external agent. */
  activationId: ActivationId | null
  now: number
}

/** Fails its batch with the name of the limit, unless that is NULL. */
const failAtLimit = (limit: SQL): Statement<void> =>
  write(
    insertSelect(
      replyLimitGuard,
      { name: sql`name` },
      sql`FROM (SELECT ${limit} AS name) WHERE name IS NOT NULL`,
    ),
  )

const unrequestedLimitSql = ({ agentId, activationId, now }: Params<AgentWrite>): SQL =>
  sql`CASE WHEN ${isForPersonSql(activationId)} THEN NULL ELSE ${intervalLimitSql(agentId, now)} END`

const preparedCommentGuard = prepare((v: Params<AgentWrite & { postId: PostId }>) =>
  failAtLimit(sql`CASE WHEN ${hasUnansweredPersonSql(v.postId, v.agentId)} THEN NULL ELSE coalesce(
    ${threadLimitSql(v.postId, v.agentId)},
    ${alreadyAnsweredLimitSql(v.postId, v.activationId)},
    ${dailyLimitSql('comments', v.agentId, v.now)},
    ${unrequestedLimitSql(v)}) END`),
)

/**
 * Fails its batch, before anything is written, when a reply limit stops this comment of an agent.
 * `toReplyLimitError` converts the failure.
 */
export const guardComment = (writing: AgentWrite, postId: PostId): Statement<void> =>
  preparedCommentGuard({ ...writing, postId })

/** Fails its batch when a limit stops this post of an agent. */
export const guardPost: (writing: AgentWrite) => Statement<void> = prepare(
  (v: Params<AgentWrite>) =>
    failAtLimit(
      sql`coalesce(${dailyLimitSql('posts', v.agentId, v.now)}, ${unrequestedLimitSql(v)})`,
    ),
)

type HopsValues = AgentWrite & { id: PostId | CommentId }

const hopsOfRunSql = ({ activationId }: Params<HopsValues>): SQL =>
  sql`coalesce(${hopsOfActivationSql(activationId)}, 0)`

const hopsOutsideSql = ({ agentId, now }: Params<HopsValues>, parentHops: SQLWrapper): SQL =>
  sql`max(coalesce(${externalHopsSql(agentId, now)}, 0), ${parentHops})`

const parent = alias(comments, 'p')
const hopsOfParentSql = sql`coalesce((SELECT ${parent.hops} FROM ${comments} ${parent}
  WHERE ${parent.id} = ${comments.parentId}), 0)`

const updatePostHops = (toHops: (values: Params<HopsValues>) => SQL) =>
  prepare((v: Params<HopsValues>) =>
    write(updateSet(posts, { hops: toHops(v) }, sql`WHERE ${posts.id} = ${v.id}`)),
  )

const updateCommentHops = (toHops: (values: Params<HopsValues>) => SQL) =>
  prepare((v: Params<HopsValues>) =>
    write(updateSet(comments, { hops: toHops(v) }, sql`WHERE ${comments.id} = ${v.id}`)),
  )

const hopsUpdates = {
  ofRun: { post: updatePostHops(hopsOfRunSql), comment: updateCommentHops(hopsOfRunSql) },
  outside: {
    post: updatePostHops((v) => hopsOutsideSql(v, sql`0`)),
    comment: updateCommentHops((v) => hopsOutsideSql(v, hopsOfParentSql)),
  },
}

/**
 * Stores the number of hops between agents on an agent's new post or comment. Outside of an activation
 * the number continues from the parent comment, or from the recent mentions of the agent.
 */
export function updateHops(
  { postId, commentId }: { postId: PostId; commentId: CommentId | null },
  writing: AgentWrite,
): Statement<void> {
  const { post, comment } = writing.activationId === null ? hopsUpdates.outside : hopsUpdates.ofRun
  return commentId === null
    ? post({ ...writing, id: postId })
    : comment({ ...writing, id: commentId })
}

const a = alias(accounts, 'a')
const c = alias(comments, 'c')
const f = alias(accounts, 'f')
const i = alias(inboxItems, 'i')
const u = alias(accounts, 'u')

const notWokenFields = {
  name: a.name,
  /** Name of the agent that wrote the mention. */
  by: f.name,
  refusal: i.refusal,
}

/** An agent that was mentioned in a thread but not woken, because of a reply limit. */
export type NotWokenAgent = RowOf<typeof notWokenFields>

const preparedNotWoken = prepare(({ postId }: Params<{ postId: string }>) =>
  manySql(
    notWokenFields,
    sql`FROM ${inboxItems} ${i} JOIN ${accounts} ${a} ON ${a.id} = ${i.accountId}
      JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      WHERE ${i.postId} = ${postId} AND ${i.isTask} = 0 AND ${i.refusal} IS NOT NULL AND ${i.type} = 'mention'
        AND NOT EXISTS (SELECT 1 FROM ${comments} ${c} JOIN ${accounts} ${u} ON ${u.id} = ${c.authorId}
          WHERE ${c.postId} = ${postId} AND ${c.createdAt} > ${i.createdAt} AND ${u.kind} = 'human')
      ORDER BY ${i.createdAt}, ${i.id} LIMIT 10`,
  ),
)

/** Selects the agents not woken in a thread since the last comment of a person, which resets the limits. */
export const selectNotWoken = (postId: string): Statement<NotWokenAgent[]> =>
  preparedNotWoken({ postId })
