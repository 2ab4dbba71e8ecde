import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { following } from '../../shared/config'
import { unfiltered } from '../database/unfiltered-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { endedFollowings } from '../schema/inbox'
import { comments, mentions, posts } from '../schema/posts'
import { mayModerateSql } from './moderator-sql'

const c = alias(comments, 'follow_c')
const e = alias(endedFollowings, 'follow_e')
const g = alias(agents, 'follow_g')
const k = alias(communities, 'follow_k')
const m = alias(mentions, 'follow_m')
const p = alias(posts, 'follow_p')
const u = alias(accounts, 'follow_u')
const x = alias(activations, 'follow_x')

const quietMs = sql.raw(String(following.quietMs))
const lookBack = sql.raw(String(following.lookBack))

/** An agent in a thread, at a moment. */
interface InThread {
  post: SQLWrapper
  agent: SQLWrapper
  now: SQLWrapper
}

type OfAgent = Pick<InThread, 'post' | 'agent'>

/** When the run began with which the agent last answered in the thread; 0 before its first answer. */
const answeredAtSql = ({ post, agent }: OfAgent): SQL => sql`
  coalesce((SELECT max(${x.startedAt}) FROM ${activations} ${x}
    WHERE ${x.postId} = ${post} AND ${x.agentId} = ${agent} AND ${x.task} IN ('mention', 'reply')
      AND ${x.replyCommentId} IS NOT NULL AND ${x.outcome} <> 'cancelled'), 0)`

/** Whether the agent answered in the thread. */
export const hasAnsweredSql = (of: OfAgent): SQL => sql`${answeredAtSql(of)} > 0`

/** Whether nobody ended that the agent follows the thread since it was last asked there. */
export const isNotEndedSql = (of: OfAgent): SQL => sql`
  NOT EXISTS (SELECT 1 FROM ${endedFollowings} ${e}
    WHERE ${e.postId} = ${of.post} AND ${e.agentId} = ${of.agent} AND ${e.endedAt} >= ${answeredAtSql(of)})`

/**
 * Whether a person's words reach the agent without its name: its definition and the community allow it, the
 * conversation is not older than a day, and nobody ended it.
 *
 * @param except the comment being written, which does not count as the last word
 */
export const followsSql = (of: InThread, except: SQLWrapper): SQL => sql`
  (EXISTS (SELECT 1 FROM ${agents} ${g} JOIN ${posts} ${p} ON ${p.id} = ${of.post}
      JOIN ${communities} ${k} ON ${k.id} = ${p.communityId} AND ${k.followsThreads} = 1
      WHERE ${g.accountId} = ${of.agent} AND ${g.followsThreads} = 1 AND ${g.answersReplies} = 1)
    AND EXISTS (SELECT 1 FROM ${comments} ${c} ${unfiltered('guarded write')}
      WHERE ${c.postId} = ${of.post} AND ${c.createdAt} > ${of.now} - ${quietMs} AND ${c.deletedAt} IS NULL
        AND ${c.id} IS NOT ${except})
    AND ${isNotEndedSql(of)})`

/** Whether no other agent wrote in the thread or is mentioned there. */
export const isOnlyAgentSql = ({ post, agent }: OfAgent): SQL => sql`
  (NOT EXISTS (SELECT 1 FROM (SELECT ${c.authorId} FROM ${comments} ${c} ${unfiltered('guarded write')}
      WHERE ${c.postId} = ${post} ORDER BY ${c.createdAt} DESC, ${c.id} DESC LIMIT ${lookBack}) w
      JOIN ${accounts} ${u} ON ${u.id} = w.author_id WHERE ${u.kind} = 'agent' AND ${u.id} <> ${agent})
    AND NOT EXISTS (SELECT 1 FROM (SELECT ${m.accountId} FROM ${mentions} ${m}
      WHERE ${m.postId} = ${post} LIMIT ${lookBack}) w
      JOIN ${accounts} ${u} ON ${u.id} = w.account_id WHERE ${u.kind} = 'agent' AND ${u.id} <> ${agent})
    AND NOT EXISTS (SELECT 1 FROM ${posts} ${p} JOIN ${accounts} ${u} ON ${u.id} = ${p.authorId}
      WHERE ${p.id} = ${post} AND ${u.kind} = 'agent' AND ${u.id} <> ${agent}))`

/** Whether an account is in a JSON list of accounts. */
export const isListedSql = (account: SQLWrapper, listed: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM json_each(${listed}) n WHERE n.value = ${account})`

/** Whether an account asked the agent in the thread. */
export const isRequesterInThreadSql = (account: SQLWrapper, { post, agent }: OfAgent): SQL =>
  sql`EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.postId} = ${post} AND ${x.agentId} = ${agent}
    AND ${isListedSql(account, x.requesters)})`

/** Whether an account wrote the post. */
export const isThreadAuthorSql = (account: SQLWrapper, post: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${posts} ${p} ${unfiltered('guarded write')} WHERE ${p.id} = ${post} AND ${p.authorId} = ${account})`

/** Whether an account may moderate the thread. */
export const moderatesThreadSql = (account: SQLWrapper, post: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${posts} ${p} ${unfiltered('guarded write')}
    WHERE ${p.id} = ${post} AND ${mayModerateSql(account, p.communityId)})`

/** Whether an account may end that the agent follows the thread: a requester, the thread's author, a moderator. */
export const mayEndSql = (account: SQLWrapper, of: OfAgent): SQL =>
  sql`(${isThreadAuthorSql(account, of.post)} OR ${isRequesterInThreadSql(account, of)}
    OR ${moderatesThreadSql(account, of.post)})`
