import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { canReadPostSql } from '../../hub/communities/readable-sql'
import { isHubPausedSql, isWaitingSql, unreadItemsSql } from '../../hub/inbox/waiting-sql'
import { accounts } from '../../hub/schema/accounts'
import { agents } from '../../hub/schema/definitions'
import { inboxItems } from '../../hub/schema/inbox'
import { mentions } from '../../hub/schema/mentions'
import type { Reader } from '../../hub/viewers/reader'
import type { RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare } from '../../shared/db/statement'

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
const k = alias(mentions, 'k')

const quietFields = { name: a.name, since: sql<number>`min(${i.createdAt})` }

/** An agent that a thread mentions and that has not started. */
export type QuietMention = RowOf<typeof quietFields>

interface Values {
  postId: string
  reader: Reader
  /** Newer tasks start in a moment. */
  before: number
}

/** Selects the agents with a waiting task in a thread; paused ones have a notice of their own. */
export const selectQuiet = prepare(({ postId, reader, before }: Params<Values>) =>
  manySql(
    quietFields,
    sql`FROM (SELECT DISTINCT ${k.accountId} FROM ${mentions} ${k} WHERE ${k.postId} = ${postId} LIMIT 500) t
      CROSS JOIN ${agents} ${g} ON ${g.accountId} = t.account_id AND ${g.isPaused} = 0 AND NOT ${isHubPausedSql}
      CROSS JOIN ${unreadItemsSql(i)} ON ${i.accountId} = ${g.accountId} AND ${i.postId} = ${postId}
        AND ${i.createdAt} < ${before} AND ${isWaitingSql(i)} AND ${i.type} <> 'approval_decision'
      CROSS JOIN ${accounts} ${a} ON ${a.id} = ${g.accountId}
      WHERE ${canReadPostSql(i.postId, reader)} GROUP BY ${a.id} ORDER BY ${a.name} LIMIT 20`,
  ),
)
