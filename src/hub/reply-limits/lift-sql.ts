import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { unfiltered } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { liftedLimits } from '../schema/lifted-limits'

const d = alias(liftedLimits, 'lift_d')
const c = alias(comments, 'lift_c')
const a = alias(accounts, 'lift_a')

/** When a person last lifted the limits of a thread; 0 for never. */
export const liftedAtSql = (post: SQLWrapper): SQL =>
  sql`coalesce((SELECT max(${d.liftedAt}) FROM ${liftedLimits} ${d} WHERE ${d.postId} = ${post}), 0)`

/** Whether a person commented in a thread after a moment: then its limits count from there. */
export const hasPersonSinceSql = (post: SQLWrapper, moment: SQLWrapper): SQL => sql`
  EXISTS (SELECT 1 FROM ${comments} ${c} ${unfiltered('limits')} JOIN ${accounts} ${a} ON ${a.id} = ${c.authorId}
    WHERE ${c.postId} = ${post} AND ${c.createdAt} > ${moment} AND ${a.kind} = 'human')`

/** Columns of an inbox item that say whether it is a mention that a limit kept from waking an agent. */
type Mention = Record<
  'isTask' | 'refusal' | 'type' | 'postId' | 'createdAt' | 'requesters',
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
