import { type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId, PostId } from '../../shared/ids'
import { canReadPostSql, canReadSql, unfiltered } from '../communities/readable-sql'
import { requestersOfItemSql } from '../inbox/requester-sql'
import {
  hasPersonSinceSql,
  isLiftableSql,
  isPayerSql,
  isRefusedMentionSql,
  mayLiftSql,
} from '../reply-limits/lift-sql'
import { threadLimitFields } from '../reply-limits/limits-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { inboxItems } from '../schema/inbox'
import { liftedLimits } from '../schema/lifted-limits'
import { posts } from '../schema/posts'
import type { Reader } from '../viewers/reader'

const a = alias(accounts, 'a')
const c = alias(comments, 'c')
const d = alias(liftedLimits, 'd')
const i = alias(inboxItems, 'i')
const p = alias(posts, 'p')

interface OfThread {
  postId: string
  reader: Reader
}

const threadFields = {
  id: p.id,
  communityId: p.communityId,
  limits: threadLimitFields(p.id, sql`true`),
}

/** Selects a thread that the reader reads, with its limits. */
export const selectLimitedThread = prepare(({ postId, reader }: Params<OfThread>) =>
  oneSql(
    threadFields,
    sql`FROM ${posts} ${p} WHERE ${p.id} = ${postId} AND ${p.deletedAt} IS NULL
      AND ${canReadSql(p.communityId, reader)}`,
  ),
)

/** That a person lifts the limits of a thread; `items` is a JSON list of the mentions that continue. */
interface Lift {
  postId: PostId
  liftedBy: AccountId
  at: number
  items: string
}

const stoppedSql = (post: SQLWrapper) => sql`${i.postId} = ${post}
  AND ${isRefusedMentionSql(i)} AND ${isLiftableSql(i)}`

/** Selects the mentions that a lift of the limits can wake, the oldest first. */
export const selectStopped = prepare(
  ({ postId, liftedBy }: Params<Pick<Lift, 'postId' | 'liftedBy'>>) =>
    manySql(
      {
        id: i.id,
        accountId: i.accountId,
        name: a.name,
        mayLift: flag(mayLiftSql(i, liftedBy)),
        /** Whether the account pays for it already. */
        isOwn: flag(isPayerSql(i, liftedBy)),
      },
      sql`FROM ${inboxItems} ${i} JOIN ${accounts} ${a} ON ${a.id} = ${i.accountId}
      WHERE ${stoppedSql(postId)} AND NOT EXISTS (SELECT 1 FROM ${comments} ${c} ${unfiltered('limits')}
        WHERE ${c.id} = ${i.commentId} AND ${c.deletedAt} IS NOT NULL)
      ORDER BY ${i.createdAt}, ${i.id} LIMIT 50`,
    ),
)

const isOfLiftSql = ({ postId, liftedBy, at }: Params<Lift>) =>
  sql`EXISTS (SELECT 1 FROM ${liftedLimits} ${d} WHERE ${d.postId} = ${postId} AND ${d.liftedAt} = ${at}
    AND ${d.liftedBy} = ${liftedBy})`

const insertLift = prepare((v: Params<Lift>) =>
  write(
    insertSelect(
      liftedLimits,
      { postId: v.postId, liftedAt: v.at, liftedBy: v.liftedBy },
      sql`WHERE EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${stoppedSql(v.postId)}
        AND ${i.id} IN (SELECT value FROM json_each(${v.items})) AND ${mayLiftSql(i, v.liftedBy)})`,
    ),
  ),
)

/** The person becomes a requester too, which adds no rights, and shares the cost. */
const continueMentions = prepare((v: Params<Lift>) =>
  write(
    updateSet(
      inboxItems,
      {
        isTask: true,
        refusal: null,
        // The inbox may have been read meanwhile.
        readAt: null,
        hops: 1,
        requesters: sql`(SELECT json_group_array(value) FROM (
          SELECT value FROM json_each(${requestersOfItemSql(inboxItems)}) UNION SELECT ${v.liftedBy} ORDER BY 1))`,
      },
      sql`WHERE ${inboxItems.id} IN (SELECT value FROM json_each(${v.items}))
        AND ${inboxItems.refusal} IS NOT NULL AND ${mayLiftSql(inboxItems, v.liftedBy)} AND ${isOfLiftSql(v)}`,
    ),
  ),
)

const selectIsLifted = prepare((v: Params<Lift>) =>
  oneSql({ isLifted: flag(isOfLiftSql(v)) }, sql``),
)

/**
 * Returns the statements that lift the limits of a thread, unless somebody did since these mentions were
 * refused; `result` says whether this one did.
 */
export const liftStatements = ({
  items,
  ...of
}: Omit<Lift, 'items'> & { items: InboxItemId[] }) => {
  const values = { ...of, items: JSON.stringify(items) }
  return {
    lift: insertLift(values),
    mentions: continueMentions(values),
    result: selectIsLifted(values),
  }
}

const liftFields = { at: d.liftedAt, by: a.name, byKind: a.kind }

/** That a person lifted the limits of a thread. */
export type LiftRow = RowOf<typeof liftFields>

/** Selects the newest lift of a thread, if no person commented since. */
export const selectLift: (of: OfThread) => Statement<LiftRow | undefined> = prepare(
  ({ postId, reader }: Params<OfThread>) =>
    oneSql(
      liftFields,
      sql`FROM ${liftedLimits} ${d} JOIN ${accounts} ${a} ON ${a.id} = ${d.liftedBy}
        WHERE ${d.postId} = ${postId} AND ${canReadPostSql(postId, reader)}
          AND NOT ${hasPersonSinceSql(d.postId, d.liftedAt)}
        ORDER BY ${d.liftedAt} DESC LIMIT 1`,
    ),
)
