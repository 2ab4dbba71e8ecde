import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { type InboxType, inboxItems } from '../schema/inbox'
import { mentions } from '../schema/mentions'
import { type Delivery, itemOf, threadTextOf } from './delivery-queries'
import { replyTargetSql } from './wake-targets-sql'

const a = alias(accounts, 'a')
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

const preparedReplyItem = prepare((v: Values) =>
  write(
    insertSelect(
      inboxItems,
      {
        ...itemOf(v),
        id: v.id,
        accountId: sql`to_id`,
        type: sql`iif(answers, 'reply', ${v.type})`,
        isTask: sql`answers`,
        cause: sql`iif(answers AND ${v.type} = 'reply', 'follow_up', NULL)`,
        refusal: sql`refusal`,
      },
      sql`FROM (${replyTargetSql(threadTextOf(v), {
        to: v.to,
        type: v.type,
        isSilent: v.isSilent,
        isMentioned: sql`EXISTS (SELECT 1 FROM ${mentions} ${m}
          WHERE ${m.postId} = ${v.postId} AND ${m.commentId} = ${v.commentId} AND ${m.accountId} = ${a.id})`,
      })})`,
    ),
  ),
)

/**
 * Inserts an inbox item for the author that a comment replies to, unless the comment mentions that
 * author. A task is always a `reply`, also below the agent's post.
 */
export const insertReplyItem = (source: Delivery, item: ReplyItem): Statement<void> =>
  preparedReplyItem({ ...source, ...item, isSilent: item.isSilent ? 1 : 0 })
