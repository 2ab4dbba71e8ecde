import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type ReplyLimits, replyLimits } from '../../shared/config'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type {
  AccountId,
  ActivationId,
  CommentId,
  CommunityId,
  InboxItemId,
  PostId,
} from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { personSql } from '../rules/people-sql'
import { canReadPostSql, canReadSql, readersSql } from '../rules/readable-sql'
import {
  alreadyAnsweredLimitSql,
  dailyLimitSql,
  externalHopsSql,
  hasPersonSinceSql,
  hasUnansweredPersonSql,
  hopsOfActivationSql,
  hubLimitFields,
  hubLimitsKey,
  intervalLimitSql,
  isForPersonSql,
  isLiftableSql,
  isPayerSql,
  isRefusedMentionSql,
  limitFieldsIn,
  mayLiftSql,
  threadLimitFields,
  threadLimitSql,
} from '../rules/reply-limits-sql'
import { requestersOfItemSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { inboxItems } from '../schema/inbox'
import { liftedLimits, replyLimitGuard } from '../schema/moderation'
import { comments, posts } from '../schema/posts'
import { settings } from '../schema/system'
import type { Reader } from '../viewers/reader'

/** A post or comment that an agent is about to write; `now` is in milliseconds since the Unix epoch. */
interface AgentWrite {
  agentId: AccountId
  /** Null for an external agent. */
  activationId: ActivationId | null
  now: number
}

/** Fails its batch with the name of the limit, unless that is NULL. */
const failAtLimit = (limit: SQL): Statement<void> =>
  write(
    insertSelect(
      replyLimitGuard,
      { name: sql`name` },
      sql`FROM (SELECT ${limit} AS name) WHERE name IS NOT NULL`,
    ),
  )

type Writes = Readonly<Record<keyof AgentWrite, SQLWrapper>>

const unrequestedLimitSql = ({ agentId, activationId, now }: Writes): SQL =>
  sql`CASE WHEN ${isForPersonSql(activationId)} THEN NULL ELSE ${intervalLimitSql(agentId, now)} END`

/** The limit that stops a comment of an agent, or NULL. */
export const commentLimitSql = (v: Writes & { postId: SQLWrapper; communityId: SQLWrapper }): SQL =>
  sql`CASE WHEN ${hasUnansweredPersonSql(v.postId, v.agentId)} THEN NULL ELSE coalesce(
    ${threadLimitSql({ post: v.postId, communityId: v.communityId }, v.agentId)},
    ${alreadyAnsweredLimitSql(v.postId, v.activationId)},
    ${dailyLimitSql('comments', v.agentId, v.now)},
    ${unrequestedLimitSql(v)}) END`

/** The limit that stops a post of an agent, or NULL. */
export const postLimitSql = (v: Writes): SQL =>
  sql`coalesce(${dailyLimitSql('posts', v.agentId, v.now)}, ${unrequestedLimitSql(v)})`

interface Thread {
  postId: PostId
  communityId: CommunityId
}

const preparedCommentGuard = prepare((v: Params<AgentWrite & Thread>) =>
  failAtLimit(commentLimitSql(v)),
)

/**
 * Fails its batch, before anything is written, when a reply limit stops this comment of an agent.
 * `replyLimitConstraints` are its errors.
 */
export const guardComment = (writing: AgentWrite, thread: Thread): Statement<void> =>
  preparedCommentGuard({ ...writing, ...thread })

/** Fails its batch when a limit stops this post of an agent. */
export const guardPost: (writing: AgentWrite) => Statement<void> = prepare(
  (v: Params<AgentWrite>) => failAtLimit(postLimitSql(v)),
)

type RunHopsValues = Pick<AgentWrite, 'activationId'> & { id: PostId | CommentId }

const hopsOfRunSql = ({ activationId }: Params<RunHopsValues>): SQL =>
  sql`coalesce(${hopsOfActivationSql(activationId)}, 0)`

const updatePostHops = prepare((v: Params<RunHopsValues>) =>
  write(updateSet(posts, { hops: hopsOfRunSql(v) }, sql`WHERE ${posts.id} = ${v.id}`)),
)

const updateCommentHops = prepare((v: Params<RunHopsValues>) =>
  write(updateSet(comments, { hops: hopsOfRunSql(v) }, sql`WHERE ${comments.id} = ${v.id}`)),
)

type ExternalHopsValues = Pick<AgentWrite, 'agentId'> & { postId: PostId; commentId: CommentId }

const parentOfSql = (comment: SQLWrapper): SQL =>
  sql`(SELECT ${comments.parentId} FROM ${comments} ${unfiltered('limits')} WHERE ${comments.id} = ${comment})`

const updateExternalHops = prepare(({ agentId, postId, commentId }: Params<ExternalHopsValues>) =>
  write(
    updateSet(
      comments,
      { hops: externalHopsSql({ post: postId, parent: parentOfSql(commentId) }, agentId) },
      sql`WHERE ${comments.id} = ${commentId}`,
    ),
  ),
)

/**
 * Stores the number of hops between agents on an agent's new post or comment: those of its run, or, for an
 * external agent, those of the thread. A post of an external agent begins at 0.
 */
export function updateHops(
  { postId, commentId }: { postId: PostId; commentId: CommentId | null },
  { agentId, activationId }: AgentWrite,
): Statement<void>[] {
  if (activationId === null) {
    return commentId === null ? [] : [updateExternalHops({ agentId, postId, commentId })]
  }
  return commentId === null
    ? [updatePostHops({ activationId, id: postId })]
    : [updateCommentHops({ activationId, id: commentId })]
}

/** Selects the limits that hold in a community. */
export const selectLimits = (communityId: CommunityId): Statement<ReplyLimits | undefined> =>
  oneSql(limitFieldsIn(sql`${communityId}`, sql`true`), sql``)

/** Selects the limits of the hub, for communities without their own. */
export const selectHubLimits: () => Statement<ReplyLimits> = () =>
  mapStatement(preparedHubLimits({}), (limits) => limits ?? replyLimits.defaults)

const preparedHubLimits = prepare(() => oneSql(hubLimitFields, sql``))

/** Sets the limits of the hub. */
export const saveHubLimits = (limits: ReplyLimits, now: number): Statement<void> => {
  const value = JSON.stringify(limits)
  return write(
    orm
      .insert(settings)
      .values({ key: hubLimitsKey, value, updatedAt: now })
      .onConflictDoUpdate({ target: settings.key, set: { value, updatedAt: now } }),
  )
}

const a = alias(accounts, 'a')
const f = alias(accounts, 'f')
const i = alias(inboxItems, 'i')

const notWokenFields = (reader: SQLWrapper) => ({
  name: a.name,
  /** Name of the agent that wrote the mention. */
  by: f.name,
  refusal: i.refusal,
  /** Whether a person can lift the limit that stopped it. */
  isLiftable: flag(isLiftableSql(i)),
  /** Whether the reader of the request is such a person. */
  mayLift: flag(mayLiftSql(i, sql`(SELECT r.id FROM ${readersSql(reader)} r)`)),
})

/** An agent that was mentioned in a thread but not woken, because of a reply limit. */
export type NotWokenAgent = RowOf<ReturnType<typeof notWokenFields>>

const preparedNotWoken = prepare(({ postId, reader }: Params<{ postId: string; reader: Reader }>) =>
  manySql(
    notWokenFields(reader),
    sql`FROM ${inboxItems} ${i} JOIN ${accounts} ${a} ON ${a.id} = ${i.accountId}
      JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      WHERE ${i.postId} = ${postId} AND ${isRefusedMentionSql(i)}
      ORDER BY ${i.createdAt}, ${i.id} LIMIT 10`,
  ),
)

/** Selects the agents not woken in a thread since the last comment of a person, which resets the limits. */
export const selectNotWoken: (of: {
  postId: string
  reader: Reader
}) => Statement<NotWokenAgent[]> = preparedNotWoken

const c = alias(comments, 'c')
const d = alias(liftedLimits, 'd')
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
        account: personSql(a),
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
