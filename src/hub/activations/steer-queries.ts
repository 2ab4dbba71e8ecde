import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { steering } from '../../shared/config'
import { flag, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import { canReadPostSql } from '../communities/readable-sql'
import type { AccountKind, SteerRequest } from '../contract/hub'
import { isListedSql } from '../following/follow-sql'
import { isForGuestSql, requestersOfItemSql } from '../inbox/requester-sql'
import { unreadItemsSql } from '../inbox/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { comments } from '../schema/comments'
import { inboxItems } from '../schema/inbox'
import { isCommentShownSql } from '../shown-sql'
import { actorReader, type Reader } from '../viewers/reader'

const f = alias(accounts, 'f')
const i = alias(inboxItems, 'i')
const m = alias(comments, 'm')
const w = alias(accounts, 'w')
const x = alias(activations, 'x')

const itemsMax = sql.raw(String(steering.itemsMax))
const charsMax = sql.raw(String(steering.charsMax))

/**
 * Claims for a running activation what its requesters wrote to the agent in its thread since it was loaded, and
 * what moderators wrote there. Items of anybody else wait: their rights are not those of the run. A run that was
 * stopped takes no more: what its requester writes then is for the next one.
 */
const joinItems = prepare((v: Params<SteerRequest>) =>
  write(
    updateSet(
      inboxItems,
      { claimedBy: v.activationId, joinedAt: v.now },
      sql`WHERE ${inboxItems.id} IN (
        SELECT ${i.id} FROM ${unreadItemsSql(i)}
          JOIN ${activations} ${x} ON ${x.id} = ${v.activationId} AND ${x.agentId} = ${v.agentId}
            AND ${x.state} = 'running' AND ${x.cancelRequestedAt} IS NULL
            AND ${x.postId} = ${i.postId} AND ${x.task} IN ('mention', 'reply')
          JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId} AND ${f.kind} = 'human'
        WHERE ${i.accountId} = ${v.agentId} AND ${i.readAt} IS NULL AND ${i.claimedBy} IS NULL AND ${i.commentId} IS NOT NULL
          AND ((${i.isTask} = 1 AND ${i.type} IN ('mention', 'reply') AND ${i.requesters} IS NULL
              AND ${isListedSql(i.fromAccountId, x.requesters)})
            OR (${i.cause} = 'moderation' AND ${i.createdAt} >= ${x.startedAt}))
        ORDER BY ${i.createdAt}, ${i.id} LIMIT ${itemsMax})`,
    ),
  ),
)

const steeringFields = {
  id: i.id,
  /** The requester, or the hub itself for a text from outside that the requester vouches for. */
  from: {
    id: f.id,
    name: sql<string>`coalesce(${w.name}, ${f.name})`,
    kind: sql<AccountKind>`coalesce(${w.kind}, ${f.kind})`,
  },
  commentId: i.commentId,
  text: sql<string>`coalesce(substr(${m.content}, 1, ${charsMax}), '')`,
  isModeration: flag(sql`${i.cause} IS NOT NULL AND ${i.cause} = 'moderation'`),
  isUntrusted: flag(
    sql`(${i.isUntrusted} = 1 OR coalesce(${i.cause}, '') = 'moderation' OR ${isForGuestSql(requestersOfItemSql(i))})`,
  ),
}

const selectJoined = prepare((v: Params<{ activationId: ActivationId; reader: Reader }>) =>
  manySql(
    steeringFields,
    sql`FROM ${inboxItems} ${i} JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      LEFT JOIN ${comments} ${m} ON ${m.id} = ${i.commentId} AND ${isCommentShownSql(m)}
        AND ${canReadPostSql(i.postId, v.reader)}
      LEFT JOIN ${accounts} ${w} ON ${w.id} = ${m.authorId} AND ${w.kind} = 'system'
      WHERE ${i.claimedBy} = ${v.activationId} AND ${i.joinedAt} IS NOT NULL AND ${i.readAt} IS NULL
      ORDER BY ${i.createdAt}, ${i.id}`,
  ),
)

type Row = RowOf<typeof steeringFields>

/** Returns the statements that take comments into a running activation: a claim, then all that joined so far. */
export function steerStatements({ agentId, activationId, now }: SteerRequest): {
  join: Statement<void>
  steering: Statement<Row[]>
} {
  const reader = actorReader({ accountId: agentId, activationId })
  return {
    join: joinItems({ agentId, activationId, now }),
    steering: selectJoined({ activationId, reader }),
  }
}
