import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { inboxItems } from '../schema/inbox'
import { mentions } from '../schema/mentions'
import { type Delivery, itemOf, threadTextOf } from './delivery-queries'
import { followUpTargetsSql } from './wake-targets-sql'

const a = alias(accounts, 'a')
const i = alias(inboxItems, 'i')
const m = alias(mentions, 'm')

/** A person's comment that may reach agents without naming them. */
export interface FollowUp extends Delivery {
  /** Author of the comment that it answers; null for the post. */
  parentAuthorId: AccountId | null
}

const preparedFollowUps = prepare((v: Params<FollowUp & { ids: string }>) =>
  write(
    insertSelect(
      inboxItems,
      {
        ...itemOf(v),
        id: sql`${v.ids} ->> (row_number() OVER (ORDER BY name) - 1)`,
        accountId: sql`to_id`,
        type: sql`iif(answers, 'reply', 'comment')`,
        isTask: sql`answers`,
        cause: sql`iif(answers, 'follow_up', 'moderation')`,
      },
      sql`FROM (${followUpTargetsSql(threadTextOf(v), {
        parentAuthorId: v.parentAuthorId,
        hasMention: sql`EXISTS (SELECT 1 FROM ${mentions} ${m} WHERE ${m.postId} = ${v.postId} AND ${m.commentId} = ${v.commentId})`,
        isTaken: sql`EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.accountId} = ${a.id}
          AND ${i.createdAt} = ${v.at} AND ${i.commentId} = ${v.commentId} AND ${i.isTask} = 1)`,
      })})`,
    ),
  ),
)

/**
 * Inserts an inbox item for each agent that a person's comment reaches although it names nobody.
 *
 * @param ids new ids, one for each agent that can be reached
 */
export const insertFollowUpItems = (comment: FollowUp, ids: InboxItemId[]): Statement<void> =>
  preparedFollowUps({ ...comment, ids: JSON.stringify(ids) })
