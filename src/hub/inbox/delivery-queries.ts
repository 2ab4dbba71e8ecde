import { eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { following, limits } from '../../shared/config'
import { flag, type RowOf } from '../../shared/db/fields'
import { many, orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { bare, insertSelect } from '../../shared/db/write-sql'
import { AppError } from '../../shared/errors'
import type { AccountId, ActivationId, CommentId, InboxItemId, PostId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'
import type { ConstraintErrors } from '../database/constraint-errors'
import { unfiltered } from '../database/unfiltered-sql'
import {
  followsSql,
  hasAnsweredSql,
  isListedSql,
  isNotEndedSql,
  isOnlyAgentSql,
  moderatesThreadSql,
} from '../rules/follow-sql'
import { canAccountReadSql } from '../rules/readable-sql'
import { notFollowingRefusal, unreadableRefusal } from '../rules/reply-limits'
import { countAgentRepliesSql, mentionLimitSql, threadLimitFields } from '../rules/reply-limits-sql'
import { isAgentRunningSql, takenSlotsSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { agentDays } from '../schema/budgets'
import { agents, contributions, explorers } from '../schema/definitions'
import { type InboxType, inboxItems } from '../schema/inbox'
import { comments, mentions, posts } from '../schema/posts'

/*
 * Which accounts a post or comment addresses, and which of them it wakes. Delivery inserts inbox items from
 * these selects, and the preview of a text reads them, so that both say the same.
 */

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const u = alias(accounts, 'u')
const x = alias(activations, 'x')

/** A post or comment, as what decides about it. */
interface Addressing {
  authorId: SQLWrapper
  authorKind: SQLWrapper
  at: SQLWrapper
  communityId: SQLWrapper
  /** Hops between agents of an item that it creates. */
  hops: SQLWrapper
  /** Comments of agents in the thread since a person wrote, with this one. */
  written: SQLWrapper
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
      communityId: v.communityId,
      hops: sql`hops`,
      written: v.written,
      nth: sql`nth_answer`,
    },
  )} END AS refusal
  FROM (SELECT *, sum(answers) OVER (ORDER BY nth) AS nth_answer FROM (SELECT t.nth, t.item_id AS id, ${a.id} AS to_id,
      coalesce(${g.answersMentions}, 0) = 1 AND ${v.authorKind} <> 'system' AS answers,
      ${v.hops} AS hops, ${canReadThreadSql(v)} AS can_read
    FROM (${mentioned}) t CROSS JOIN ${accounts} ${a} ON ${a.id} = t.account_id
    LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
    WHERE ${a.id} <> ${v.authorId} AND ${a.isImported} = 0)
  WHERE can_read OR answers)`

/** A comment in a thread, as what decides whom it reaches without a mention. */
interface ThreadText extends Addressing {
  postId: SQLWrapper
  /** The comment, if it is stored already: it does not count as the last word. */
  commentId: SQLWrapper
}

/** Whether the account `a` works in a thread now, in a run that nobody stopped, for the author of a text if `isForAuthor`. */
export const isWorkingSql = (
  v: Pick<ThreadText, 'postId' | 'authorId'>,
  isForAuthor: boolean,
): SQL => sql`
  EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.agentId} = ${a.id} AND ${x.state} = 'running'
    AND ${x.cancelRequestedAt} IS NULL AND ${x.postId} = ${v.postId} AND ${x.task} IN ('mention', 'reply')
    ${isForAuthor ? sql`AND ${isListedSql(v.authorId, x.requesters)}` : sql``})`

const notFollowing = sql.raw(`'${notFollowingRefusal}'`)

interface RepliedTo {
  /** The author that the comment replies to. */
  to: SQLWrapper
  /** `reply`: to a comment of that account; `comment`: to its post. */
  type: SQLWrapper
  /** The comment asks nothing: it is bare thanks, or a stop. */
  isSilent: SQLWrapper
  /** Condition on the account `a`. */
  isMentioned: SQL
}

/**
 * Selects the author that a comment replies to, unless the comment mentions that account: `to_id`; `answers`,
 * whether it is a task; `is_working`, whether that account works in the thread for the author, whose comment
 * then joins the run; and `refusal`. A task for an agent is only the reply of a person, while the agent follows
 * the thread or, below its own post, while nobody ended that.
 */
export const replyTargetSql = (v: ThreadText, of: RepliedTo): SQL => {
  const inThread = { post: v.postId, agent: a.id, now: v.at }
  const isHeard = sql`iif(${of.type} = 'reply', ${followsSql(inThread, v.commentId)}, ${isNotEndedSql(inThread)})`
  return sql`
    SELECT to_id, is_working, may_ask AND (is_working OR (may_answer AND is_heard)) AS answers,
      iif(may_answer AND NOT is_working AND NOT is_heard, ${notFollowing}, NULL) AS refusal
    FROM (SELECT ${a.id} AS to_id, ${v.authorKind} = 'human' AND NOT ${of.isSilent} AS may_ask,
        coalesce(${g.answersReplies}, 0) = 1 AND ${v.authorKind} = 'human' AND NOT ${of.isSilent} AS may_answer,
        ${isHeard} AS is_heard, ${isWorkingSql(v, true)} AS is_working
      FROM ${accounts} ${a} LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      WHERE ${a.id} = ${of.to} AND ${a.id} <> ${v.authorId} AND ${a.kind} <> 'system' AND ${a.isImported} = 0
        AND ${canReadThreadSql(v)} AND NOT (${of.isMentioned}))`
}

interface FollowUpTarget {
  /** Author of the comment that it answers; null for the post. */
  parentAuthorId: SQLWrapper
  /** Whether the comment mentions any account. */
  hasMention: SQL
  /** Condition on the account `a`: it got a task by this comment already. */
  isTaken: SQL
}

/**
 * Selects the agents that a person's comment reaches although it names nobody: `to_id`, `name`, `answers`,
 * `is_working`. Those are the agents that work in the thread for this person, and the only agent of the thread
 * while it follows. A moderator's comment that asks nobody is no task (`answers` is 0); it is for the runs that
 * work in the thread.
 */
export const followUpTargetsSql = (v: ThreadText, of: FollowUpTarget): SQL => {
  const inThread = { post: v.postId, agent: a.id, now: v.at }
  return sql`
    SELECT * FROM (SELECT ${a.id} AS to_id, ${a.name} AS name,
        (${isWorkingSql(v, true)} OR (${hasAnsweredSql(inThread)} AND ${followsSql(inThread, v.commentId)}
          AND ${isOnlyAgentSql(inThread)})) AS answers,
        ${isWorkingSql(v, false)} AS is_working
      FROM (SELECT DISTINCT ${x.agentId} AS agent_id FROM ${activations} ${x}
          WHERE ${x.postId} = ${v.postId} AND (${x.state} = 'running' OR ${x.replyCommentId} IS NOT NULL)) t
        CROSS JOIN ${accounts} ${a} ON ${a.id} = t.agent_id
      WHERE NOT (${of.hasMention}) AND ${canReadThreadSql(v)} AND NOT (${of.isTaken})
        AND NOT EXISTS (SELECT 1 FROM ${accounts} ${u}
          WHERE ${u.id} = ${of.parentAuthorId} AND ${u.kind} = 'agent' AND ${u.id} <> ${a.id}))
    WHERE answers OR (is_working AND ${moderatesThreadSql(v.authorId, v.postId)})
    ORDER BY name LIMIT ${sql.raw(String(following.agentsMax))}`
}

/** A post or comment that was just written. */
export interface PostedContent {
  postId: PostId
  /** Null for the post itself. */
  commentId: CommentId | null
  authorId: AccountId
  at: number
}

interface MentionValues {
  postId: PostId
  /** '' for the post itself. */
  commentId: string
  at: number
  /** JSON list. */
  names: string
}

/**
 * Selects the accounts that a text mentions: the first ten of its names that are accounts, as `nth` and
 * `account_id`.
 *
 * @param names a JSON list
 */
export const mentionedSql = (names: SQLWrapper): SQL => {
  const a = alias(accounts, 'a')
  return sql`SELECT n.key AS nth, ${a.id} AS account_id FROM json_each(${names}) n
    CROSS JOIN ${accounts} ${a} ON ${a.name} = n.value
    WHERE ${a.kind} <> 'system' ORDER BY n.key LIMIT ${sql.raw(String(limits.mentionsPerItemMax))}`
}

const preparedMentions = prepare(({ postId, commentId, at, names }: Params<MentionValues>) =>
  write(
    insertSelect(
      mentions,
      { postId, commentId, accountId: sql`t.account_id`, createdAt: at },
      sql`FROM (${mentionedSql(names)}) t`,
    ),
  ),
)

/** Inserts a mention for each of the first ten names that are accounts. */
export const insertMentions = (source: PostedContent, names: string[]): Statement<void> =>
  preparedMentions({
    postId: source.postId,
    commentId: source.commentId ?? '',
    at: source.at,
    names: JSON.stringify(names),
  })

const i = alias(inboxItems, 'i')
const m = alias(mentions, 'm')

/** A post or comment that creates inbox items. */
interface Delivery extends PostedContent {
  authorKind: AccountKind
  /** The activation in which an agent writes: its requesters are those of the items. */
  activationId: ActivationId | null
  isUntrusted: boolean
  /** What the author asks where the text is data of another service; null: the text asks. */
  request: string | null
}

/** Columns of an inbox item that come from its post or comment. */
const itemOf = (source: Params<Delivery>) => ({
  postId: source.postId,
  commentId: source.commentId,
  fromAccountId: source.authorId,
  createdAt: source.at,
  requesters: requestersOfRunSql(source.activationId),
  isUntrusted: source.isUntrusted,
  request: source.request,
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
const threadTextOf = (v: Params<Delivery>): ThreadText => ({
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
interface MentioningContent {
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

/** A person's comment that may reach agents without naming them. */
interface FollowUp extends Delivery {
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

/** Errors of contributions during an exploration, as agents read them. */
const contributionErrors = {
  lowConfidence: (cause: unknown) =>
    new AppError('REPLY_LIMIT', 'Not posted: the confidence is below the minimum.', {
      hint: 'State a confidence of at least the min_confidence of your definition, or answer PASS.',
      cause,
    }),
  alreadyContributed: (cause: unknown) =>
    new AppError('REPLY_LIMIT', 'Not posted: this exploration already has a contribution.', {
      hint: 'An exploration can contribute once. Answer PASS.',
      cause,
    }),
}

/**
 * A post or comment that an agent writes during an exploration; `now` is in milliseconds since the Unix
 * epoch.
 */
interface Contribution {
  activationId: ActivationId
  agentId: AccountId
  /** As stated by the agent, from 0 to 1; undefined when not stated. */
  confidence: number | undefined
  now: number
}

const insertContribution = prepare((v: Params<Contribution & { confidence: number }>) =>
  write(
    insertSelect(
      contributions,
      {
        activationId: x.id,
        accountId: x.agentId,
        confidence: v.confidence,
        least: sql`coalesce((SELECT ${explorers.minConfidence} FROM ${explorers} WHERE ${explorers.accountId} = ${x.agentId}), 0)`,
        createdAt: v.now,
      },
      sql`FROM ${activations} ${x}
        WHERE ${x.id} = ${v.activationId} AND ${x.agentId} = ${v.agentId} AND ${x.task} = 'exploration'`,
    ),
  ),
)

/**
 * Limits an exploration to one contribution per activation, with the minimum confidence of the
 * definition. Otherwise its batch fails with one of `contributionConstraints`. Activations with
 * another task are not limited.
 */
export const guardContribution = (contribution: Contribution): Statement<void> =>
  insertContribution({ ...contribution, confidence: contribution.confidence ?? 0 })

/** Errors of the constraints that `guardContribution` fails. */
export const contributionConstraints: ConstraintErrors = {
  contribution_unsure: contributionErrors.lowConfidence,
  'contributions.activation_id': contributionErrors.alreadyContributed,
}
