import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { unfiltered } from '../communities/readable-sql'
import { mayModerateSql } from '../moderators/moderator-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { liftedLimits } from '../schema/lifted-limits'
import { posts } from '../schema/posts'

const d = alias(liftedLimits, 'lift_d')
const c = alias(comments, 'lift_c')
const a = alias(accounts, 'lift_a')
const r = alias(accounts, 'lift_r')
const who = alias(accounts, 'lift_who')
const p = alias(posts, 'lift_p')

/** When a person last lifted the limits of a thread; 0 for never. */
export const liftedAtSql = (post: SQLWrapper): SQL =>
  sql`coalesce((SELECT max(${d.liftedAt}) FROM ${liftedLimits} ${d} WHERE ${d.postId} = ${post}), 0)`

/** Whether a person commented in a thread after a moment: then its limits count from there. */
export const hasPersonSinceSql = (post: SQLWrapper, moment: SQLWrapper): SQL => sql`
  EXISTS (SELECT 1 FROM ${comments} ${c} ${unfiltered('limits')} JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId}
    WHERE ${c.postId} = ${post} AND ${c.createdAt} > ${moment} AND ${a.kind} = 'human')`

/** Columns of an inbox item that say whether it is a mention that a limit kept from waking an agent. */
type Mention = Record<
  'isTask' | 'refusal' | 'type' | 'postId' | 'createdAt' | 'requesters' | 'fromAccountId',
  SQLWrapper
>

/** Whether an inbox item is a mention that was refused in a thread since a person's last comment there. */
export const isRefusedMentionSql = (item: Mention): SQL => sql`
  (${item.isTask} = 0 AND ${item.refusal} IS NOT NULL AND ${item.type} = 'mention'
    AND NOT ${hasPersonSinceSql(item.postId, item.createdAt)})`

/**
 * Whether a refused mention was stopped by a limit that a person can lift, and was not there at the last lift. One
 * of a run for the hub itself can't be lifted: it has no requester, so what an agent wrote would run with the rights
 * of whoever lifts it alone.
 */
export const isLiftableSql = (item: Mention): SQL => sql`
  (${item.refusal} IN ('reply_limit_post', 'reply_limit_hops') AND coalesce(${item.requesters}, '') <> '[]'
    AND ${item.createdAt} > ${liftedAtSql(item.postId)})`

/** Whether an account pays for a mention already: as its requester, or as the owner of an agent that is. */
export const isPayerSql = (item: Mention, account: SQLWrapper): SQL => {
  const requesters = sql`json_each(coalesce(${item.requesters}, json_array(${item.fromAccountId})))`
  const isOwn = sql`(${r.id} = ${account} OR ${r.ownerId} IS ${account})`
  const from = sql`FROM ${requesters} n JOIN ${accounts} ${r} ON ${r.id} = n.value`
  return sql`(EXISTS (SELECT 1 ${from} WHERE ${isOwn})
    AND NOT EXISTS (SELECT 1 ${from} JOIN ${accounts} ${who} ON ${who.id} = ${account} WHERE ${who.role} = 'guest' AND NOT ${isOwn}))`
}

/**
 * Whether an account may lift the limit that stopped a mention. It spends the money of the requesters, so only they
 * may, and moderators of the community. A guest may as the only requester.
 */
export const mayLiftSql = (item: Mention, account: SQLWrapper): SQL => sql`
  (${isPayerSql(item, account)} OR EXISTS (SELECT 1 FROM ${posts} ${p} ${unfiltered('limits')}
    WHERE ${p.id} = ${item.postId} AND ${mayModerateSql(account, p.communityId)}))`
