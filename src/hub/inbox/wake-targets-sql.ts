import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { canAccountReadSql } from '../communities/readable-sql'
import { unreadableRefusal } from '../reply-limits/explain-reply-limit'
import { mentionLimitSql } from '../reply-limits/reply-limit-sql'
import { accounts } from '../schema/accounts'
import { agents } from '../schema/definitions'

/*
 * Which accounts a post or comment addresses, and which of them it wakes. Delivery inserts inbox items from
 * these selects, and the preview of a text reads them, so that both say the same.
 */

const a = alias(accounts, 'a')
const g = alias(agents, 'g')

/** A post or comment, as what decides about it. */
export interface Addressing {
  authorId: SQLWrapper
  authorKind: SQLWrapper
  at: SQLWrapper
  communityId: SQLWrapper
  /** Hops between agents of an item that it creates. */
  hops: SQLWrapper
  /** Comments that agents can still write in the thread, after this one. */
  remaining: SQLWrapper
}

const canReadThreadSql = ({ communityId }: Addressing): SQL => canAccountReadSql(communityId, a)

const unreadable = sql.raw(`'${unreadableRefusal}'`)

/**
 * Selects the accounts that a text addresses by a mention: `id`, `to_id`, `answers` (it is a task unless there
 * is a refusal), `hops`, `can_read`, `refusal`. Whoever does not read the community is not notified; of an
 * agent that answers mentions the author learns so.
 *
 * @param mentioned a select of `nth`, `account_id` and `item_id`
 */
export const mentionTargetsSql = (v: Addressing, mentioned: SQL): SQL => sql`
  SELECT *, CASE WHEN NOT can_read THEN ${unreadable} WHEN ${v.authorKind} = 'agent' THEN ${mentionLimitSql(
    { from: v.authorId, to: sql`to_id`, now: v.at },
    {
      hops: sql`hops`,
      remaining: v.remaining,
      nth: sql`sum(answers) OVER (ORDER BY nth)`,
    },
  )} END AS refusal
  FROM (SELECT t.nth, t.item_id AS id, ${a.id} AS to_id,
      coalesce(${g.answersMentions}, 0) = 1 AND ${v.authorKind} <> 'system' AS answers,
      ${v.hops} AS hops, ${canReadThreadSql(v)} AS can_read
    FROM (${mentioned}) t CROSS JOIN ${accounts} ${a} ON ${a.id} = t.account_id
    LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
    WHERE ${a.id} <> ${v.authorId} AND ${a.isImported} = 0)
  WHERE can_read OR answers`

/**
 * Selects the author that a comment replies to, unless the comment mentions that account: `to_id`, and
 * `answers`, whether it is a task. A task for an agent is only the reply of a person.
 *
 * @param isMentioned condition on the account `a`
 */
export const replyTargetSql = (v: Addressing, to: SQLWrapper, isMentioned: SQL): SQL => sql`
  SELECT ${a.id} AS to_id, coalesce(${g.answersReplies}, 0) = 1 AND ${v.authorKind} = 'human' AS answers
  FROM ${accounts} ${a} LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
  WHERE ${a.id} = ${to} AND ${a.id} <> ${v.authorId} AND ${a.kind} <> 'system' AND ${a.isImported} = 0
    AND ${canReadThreadSql(v)} AND NOT (${isMentioned})`
