import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { following } from '../../shared/config'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId } from '../../shared/ids'
import {
  followsSql,
  hasAnsweredSql,
  isListedSql,
  isOnlyAgentSql,
  moderatesThreadSql,
} from '../following/follow-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { inboxItems } from '../schema/inbox'
import { mentions } from '../schema/mentions'
import { canReadThreadSql, type Delivery, itemOf } from './delivery-queries'

const a = alias(accounts, 'a')
const i = alias(inboxItems, 'i')
const m = alias(mentions, 'm')
const u = alias(accounts, 'u')
const x = alias(activations, 'x')

/** A person's comment that may reach agents without naming them. */
export interface FollowUp extends Delivery {
  /** Author of the comment that it answers; null for the post. */
  parentAuthorId: AccountId | null
}

type Values = Params<FollowUp & { ids: string }>

/** Whether the comment mentions an account. */
const hasMentionSql = ({ postId, commentId }: Params<Delivery>): SQL => sql`
  EXISTS (SELECT 1 FROM ${mentions} ${m} WHERE ${m.postId} = ${postId} AND ${m.commentId} = ${commentId})`

/** Whether the comment answers a comment of an agent other than this one. */
const isForOtherAgentSql = ({ parentAuthorId }: Values): SQL => sql`
  EXISTS (SELECT 1 FROM ${accounts} ${u} WHERE ${u.id} = ${parentAuthorId} AND ${u.kind} = 'agent' AND ${u.id} <> ${a.id})`

/** Whether an agent works in the thread now, for the author if `isForAuthor`. */
const isWorkingSql = (v: Params<Delivery>, agent: SQLWrapper, isForAuthor: boolean): SQL => sql`
  EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.agentId} = ${agent} AND ${x.state} = 'running'
    AND ${x.postId} = ${v.postId} AND ${x.task} IN ('mention', 'reply')
    ${isForAuthor ? sql`AND ${isListedSql(v.authorId, x.requesters)}` : sql``})`

/** Whether an agent works in the thread for the author of a comment, which then joins the run. */
export const isWorkingForAuthorSql = (v: Params<Delivery>, agent: SQLWrapper): SQL =>
  isWorkingSql(v, agent, true)

/** Whether a comment continues the conversation with an agent that nobody else takes part in. */
const isFollowUpSql = (v: Values): SQL => {
  const of = { post: v.postId, agent: a.id, now: v.at }
  return sql`(${hasAnsweredSql(of)} AND ${followsSql(of, v.commentId)} AND ${isOnlyAgentSql(of)})`
}

const preparedFollowUps = prepare((v: Values) =>
  write(
    insertSelect(
      inboxItems,
      {
        ...itemOf(v),
        id: sql`${v.ids} ->> (row_number() OVER (ORDER BY name) - 1)`,
        accountId: sql`to_id`,
        type: sql`iif(is_request, 'reply', 'comment')`,
        isTask: sql`is_request`,
        cause: sql`iif(is_request, 'follow_up', 'moderation')`,
      },
      sql`FROM (SELECT ${a.id} AS to_id, ${a.name} AS name,
          (${isWorkingForAuthorSql(v, a.id)} OR ${isFollowUpSql(v)}) AS is_request,
          ${isWorkingSql(v, a.id, false)} AS is_working
        FROM (SELECT DISTINCT ${x.agentId} AS agent_id FROM ${activations} ${x}
            WHERE ${x.postId} = ${v.postId} AND (${x.state} = 'running' OR ${x.replyCommentId} IS NOT NULL)) t
          CROSS JOIN ${accounts} ${a} ON ${a.id} = t.agent_id
        WHERE NOT ${hasMentionSql(v)} AND NOT ${isForOtherAgentSql(v)} AND ${canReadThreadSql(v)}
          AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.accountId} = ${a.id}
            AND ${i.createdAt} = ${v.at} AND ${i.commentId} = ${v.commentId} AND ${i.isTask} = 1))
      WHERE is_request OR (is_working AND ${moderatesThreadSql(v.authorId, v.postId)})
      ORDER BY name LIMIT ${sql.raw(String(following.agentsMax))}`,
    ),
  ),
)

/**
 * Inserts an inbox item for each agent that a person's comment reaches although it names nobody: those that
 * work in the thread for this person, and the only agent of the thread while it follows. A moderator's comment
 * that asks nobody is no task; it is for the runs that work in the thread.
 *
 * @param ids new ids, one for each agent that can be reached
 */
export const insertFollowUpItems = (comment: FollowUp, ids: InboxItemId[]): Statement<void> =>
  preparedFollowUps({ ...comment, ids: JSON.stringify(ids) })
