import { eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import { many, orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { bare, insertSelect } from '../../shared/db/write-sql'
import type { ActivationId, CommentId, InboxItemId, PostId } from '../../shared/ids'
import { unfiltered } from '../communities/readable-sql'
import type { AccountKind } from '../contract/hub'
import type { PostedContent } from '../mentions/queries'
import { threadLimitFields } from '../reply-limits/limits-sql'
import { countAgentRepliesSql } from '../reply-limits/reply-limit-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { comments } from '../schema/comments'
import { inboxItems } from '../schema/inbox'
import { mentions } from '../schema/mentions'
import { posts } from '../schema/posts'
import { agentDays } from '../schema/reports'
import { isAgentRunningSql, takenSlotsSql } from './waiting-sql'
import { type Addressing, mentionTargetsSql, type ThreadText } from './wake-targets-sql'

const a = alias(accounts, 'a')
const i = alias(inboxItems, 'i')
const m = alias(mentions, 'm')
const x = alias(activations, 'x')

/** A post or comment that creates inbox items. */
export interface Delivery extends PostedContent {
  authorKind: AccountKind
  /** The activation in which an agent writes: its requesters are those of the items. */
  activationId: ActivationId | null
  isUntrusted: boolean
}

/** Columns of an inbox item that come from its post or comment. */
export const itemOf = (source: Params<Delivery>) => ({
  postId: source.postId,
  commentId: source.commentId,
  fromAccountId: source.authorId,
  createdAt: source.at,
  requesters: requestersOfRunSql(source.activationId),
  isUntrusted: source.isUntrusted,
})

/** The requesters of an activation, to pass on; null without one. */
const requestersOfRunSql = (activationId: SQLWrapper): SQL =>
  sql`(SELECT ${x.requesters} FROM ${activations} ${x} WHERE ${x.id} = ${activationId})`

/** Hops of an item: those of the post or comment that mentions, and one more when its author is an agent. */
const hopsSql = ({ authorKind, commentId, postId }: Params<Delivery>): SQL => sql`
  iif(${authorKind} = 'agent', 1 + coalesce(
    (SELECT ${comments.hops} FROM ${comments} WHERE ${comments.id} = ${commentId}),
    (SELECT ${posts.hops} FROM ${posts} WHERE ${posts.id} = ${postId})), 0)`

/** The post or comment, which exists already, as what decides whom it addresses. */
const addressingOf = (v: Params<Delivery>): Addressing => ({
  authorId: v.authorId,
  authorKind: v.authorKind,
  at: v.at,
  communityId: sql`(SELECT ${posts.communityId} FROM ${posts} ${unfiltered('guarded write')} WHERE ${posts.id} = ${v.postId})`,
  hops: hopsSql(v),
  written: countAgentRepliesSql(v.postId),
})

/** The same for a comment in a thread. */
export const threadTextOf = (v: Params<Delivery>): ThreadText => ({
  ...addressingOf(v),
  postId: v.postId,
  commentId: v.commentId,
})

/** The accounts that `insertMentions` found, each with the id of its item. */
const storedMentionsSql = (v: Params<Delivery & { items: string }>): SQL => sql`
  SELECT n.key AS nth, n.value ->> 'id' AS item_id, ${a.id} AS account_id FROM json_each(${v.items}) n
  CROSS JOIN ${accounts} ${a} ON ${a.name} = n.value ->> 'name'
  JOIN ${mentions} ${m} ON ${m.postId} = ${v.postId} AND ${m.commentId} = coalesce(${v.commentId}, '') AND ${m.accountId} = ${a.id}`

const preparedMentionItems = prepare((v: Params<Delivery & { items: string }>) =>
  write(
    insertSelect(
      inboxItems,
      {
        ...itemOf(v),
        id: sql`id`,
        accountId: sql`to_id`,
        type: sql`'mention'`,
        isTask: sql`answers AND refusal IS NULL`,
        hops: sql`hops`,
        refusal: sql`iif(answers, refusal, NULL)`,
      },
      sql`FROM (${mentionTargetsSql(addressingOf(v), storedMentionsSql(v))})`,
    ),
  ),
)

/**
 * Inserts an inbox item for each account that `insertMentions` of the same batch found. The item is a
 * task for a hosted agent that answers mentions. A mention is the only way in which an agent wakes an
 * agent, and only below the reply limits. Whoever does not read the community is not notified; of an agent that
 * answers mentions the author learns so. Authors get no item for their own mention, and the system
 * account wakes no agent. Put `countRefusedMentions` after it.
 *
 * @param items a new id for each candidate name, in the order of the names
 */
export const insertMentionItems = (
  source: Delivery,
  items: { id: InboxItemId; name: string }[],
): Statement<void> => preparedMentionItems({ ...source, items: JSON.stringify(items) })

/** A post or comment whose mentions were just inserted. */
export interface MentioningContent {
  postId: PostId
  /** Null for the post itself. */
  commentId: CommentId | null
  /** Time of the content and of its inbox items. */
  at: number
  /** An activation without which nothing was inserted, unless it still runs; null when there is none. */
  runningId: ActivationId | null
}

const dayMs = 86_400_000

const preparedRefusedMentions = prepare((v: Params<MentioningContent & { day: number }>) =>
  write(
    insertSelect(
      agentDays,
      { accountId: i.fromAccountId, day: v.day, refusedMentions: sql`count(*)` },
      sql`FROM ${inboxItems} ${i}
        WHERE ${i.postId} = ${v.postId} AND ${i.createdAt} = ${v.at} AND ${i.commentId} IS ${v.commentId}
          AND ${i.isTask} = 0 AND ${i.refusal} IS NOT NULL AND ${i.type} = 'mention' AND ${i.fromAccountId} IS NOT NULL
          AND (${v.runningId} IS NULL OR EXISTS (SELECT 1 FROM ${activations} ${x}
            WHERE ${x.id} = ${v.runningId} AND ${x.state} = 'running'))
        GROUP BY ${i.fromAccountId}
        ON CONFLICT (${bare(agentDays.accountId)}, ${bare(agentDays.day)})
          DO UPDATE SET ${bare(agentDays.refusedMentions)} = ${bare(agentDays.refusedMentions)} + excluded.${bare(agentDays.refusedMentions)}`,
    ),
  ),
)

/**
 * Counts the mentions that a reply limit kept from waking an agent, in the author's day. Put it once
 * after the statement that inserts the inbox items of a new post or comment: it counts all items of that
 * post or comment.
 */
export const countRefusedMentions = (content: MentioningContent): Statement<void> =>
  preparedRefusedMentions({ ...content, day: Math.floor(content.at / dayMs) })

const wakeFields = (itemIds: SQLWrapper, now: SQLWrapper) => ({
  accountId: i.accountId,
  name: a.name,
  /** Why the agent was not woken; null when it was woken. */
  refusal: i.refusal,
  /** They explain the refusal. */
  limits: threadLimitFields(i.postId, sql`${i.refusal} IS NOT NULL`),
  /** Whether the agent works in the thread of the item now, so that the item may join the run. */
  isWorkingThere:
    flag(sql`EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.agentId} = ${i.accountId}
    AND ${x.state} = 'running' AND ${x.postId} = ${i.postId})`),
  isRunning: flag(isAgentRunningSql(i.accountId)),
  takenSlots: takenSlotsSql(itemIds, now),
})

/** An agent for which an item was inserted: woken by a task, or not woken with the reason. */
export type WakeResult = RowOf<ReturnType<typeof wakeFields>>

const preparedWakeResults = prepare(({ itemIds, now }: Params<{ itemIds: string; now: number }>) =>
  many(
    orm
      .selectDistinct(wakeFields(itemIds, now))
      .from(i)
      .innerJoin(a, eq(a.id, i.accountId))
      .where(
        sql`${i.id} IN (SELECT value FROM json_each(${itemIds})) AND ${i.readAt} IS NULL
          AND (${i.isTask} = 1 OR ${i.refusal} IS NOT NULL OR ${i.cause} = 'moderation')`,
      ),
  ),
)

/** Selects the hosted agents that these new items wake, and those that were kept from waking. */
export const selectWakeResults = (itemIds: InboxItemId[], now: number): Statement<WakeResult[]> =>
  preparedWakeResults({ itemIds: JSON.stringify(itemIds), now })
