import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId } from '../../shared/ids'
import { followsSql, isNotEndedSql } from '../following/follow-sql'
import { notFollowingRefusal } from '../reply-limits/explain-reply-limit'
import { accounts } from '../schema/accounts'
import { agents } from '../schema/definitions'
import { type InboxType, inboxItems } from '../schema/inbox'
import { mentions } from '../schema/mentions'
import { canReadThreadSql, type Delivery, itemOf } from './delivery-queries'
import { isWorkingForAuthorSql } from './follow-up-queries'

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const m = alias(mentions, 'm')

interface ReplyItem {
  id: InboxItemId
  to: AccountId
  /** `reply`: to a comment of that account; `comment`: to its post. */
  type: Extract<InboxType, 'reply' | 'comment'>
  /** The comment asks nothing: it is bare thanks, or a stop. */
  isSilent: boolean
}

type Values = Params<Delivery & Omit<ReplyItem, 'isSilent'> & { isSilent: 0 | 1 }>

/** Whether the agent follows the thread, or, below its own post, whether nobody ended that. */
const isHeardSql = (v: Values): SQL => {
  const of = { post: v.postId, agent: a.id, now: v.at }
  return sql`iif(${v.type} = 'reply', ${followsSql(of, v.commentId)}, ${isNotEndedSql(of)})`
}

const notFollowing = sql.raw(`'${notFollowingRefusal}'`)

const preparedReplyItem = prepare((v: Values) =>
  write(
    insertSelect(
      inboxItems,
      {
        ...itemOf(v),
        id: v.id,
        accountId: sql`to_id`,
        type: sql`iif(is_request, 'reply', ${v.type})`,
        isTask: sql`is_request`,
        cause: sql`iif(is_request AND ${v.type} = 'reply', 'follow_up', NULL)`,
        refusal: sql`iif(may_answer AND NOT is_request, ${notFollowing}, NULL)`,
      },
      sql`FROM (SELECT *, may_ask AND (is_working OR (may_answer AND is_heard)) AS is_request
        FROM (SELECT ${a.id} AS to_id, ${v.authorKind} = 'human' AND NOT ${v.isSilent} AS may_ask,
            coalesce(${g.answersReplies}, 0) = 1 AND ${v.authorKind} = 'human' AND NOT ${v.isSilent} AS may_answer,
            ${isHeardSql(v)} AS is_heard, ${isWorkingForAuthorSql(v, a.id)} AS is_working
          FROM ${accounts} ${a} LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
          WHERE ${a.id} = ${v.to} AND ${a.id} <> ${v.authorId} AND ${a.kind} <> 'system' AND ${a.isImported} = 0
            AND ${canReadThreadSql(v)} AND NOT EXISTS (SELECT 1 FROM ${mentions} ${m}
              WHERE ${m.postId} = ${v.postId} AND ${m.commentId} = ${v.commentId} AND ${m.accountId} = ${a.id})))`,
    ),
  ),
)

/**
 * Inserts an inbox item for the author that a comment replies to, unless the comment mentions that
 * author. The item is a task when a person replies to a hosted agent that answers replies and follows the
 * thread, or that works there for this person. A task is always a `reply`, also below the agent's post.
 */
export const insertReplyItem = (source: Delivery, item: ReplyItem): Statement<void> =>
  preparedReplyItem({ ...source, ...item, isSilent: item.isSilent ? 1 : 0 })
