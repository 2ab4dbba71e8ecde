import { and, eq, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
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
import { bare, insertSelect } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import type { Question, QuestionProgress } from '../contract/hub'
import {
  followsSql,
  isRequesterInThreadSql,
  isThreadAuthorSql,
  mayEndSql,
  moderatesThreadSql,
} from '../rules/follow-sql'
import { optionalPersonSql, personSql } from '../rules/people-sql'
import { canAccountReadSql, canReadPostSql, canReadSql, readersSql } from '../rules/readable-sql'
import { unreadableRefusal, withdrawnRefusal } from '../rules/reply-limits'
import { limitFieldsIn } from '../rules/reply-limits-sql'
import {
  isCommentShownSql,
  isItemGoneSql,
  isPostShownSql,
  isUnreadSql,
  itemTextSql,
} from '../rules/shown-sql'
import {
  isForGuestSql,
  isHubPausedSql,
  requestersOfItemSql,
  unreadItemsSql,
} from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { agents } from '../schema/definitions'
import { conversationMembers, directMessages } from '../schema/dms'
import { endedFollowings, inboxItems } from '../schema/inbox'
import { comments, mentions, posts } from '../schema/posts'
import { isAccountDisabledSql, isStoppedAccountSql } from '../viewers/ban-sql'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { actorReader, type Reader, requestReader } from '../viewers/reader'
import { mentionedSql } from './delivery-queries'

const f = alias(accounts, 'f')

const i = alias(inboxItems, 'i')

const own = alias(inboxItems, 'own')

const p = alias(posts, 'p')

const m = alias(comments, 'm')

const requested = alias(approvals, 'requested')

const claimed = alias(inboxItems, 'claimed')
const a = alias(accounts, 'a')
const asked = alias(directMessages, 'asked')
const d = alias(directMessages, 'd')
const g = alias(agents, 'g')
const k = alias(mentions, 'k')
const n = alias(conversationMembers, 'n')
const r = alias(comments, 'r')
const x = alias(activations, 'x')
const b = alias(accounts, 'b')
const c = alias(comments, 'c')

/** Whether a moderator removed the post or comment that an item is about. */
const isRemovedSql = sql`(${p.removalId} IS NOT NULL
  OR EXISTS (SELECT 1 FROM ${comments} ${m} WHERE ${m.id} = ${i.commentId} AND ${m.removalId} IS NOT NULL))`

const itemFields = {
  id: i.id,
  type: i.type,
  postId: i.postId,
  commentId: i.commentId,
  content: sql<string>`CASE WHEN NOT ${isItemGoneSql(i)} THEN ${itemTextSql(i)}
    WHEN ${isRemovedSql} THEN '[removed by a moderator]' ELSE '[deleted]' END`,
  createdAt: i.createdAt,
  /** What is gone counts as read. */
  readAt: sql<number | null>`coalesce(${i.readAt}, iif(${isItemGoneSql(i)}, ${i.createdAt}, NULL))`,
  from: optionalPersonSql(f),
  isUntrusted: flag(sql`(${i.isUntrusted} = 1 OR ${isForGuestSql(requestersOfItemSql(i))})`),
  postTitle: sql<
    string | null
  >`iif(${isPostShownSql(p)}, ${p.title}, iif(${p.removalId} IS NULL, '[deleted]', '[removed]'))`,
  conversationId: i.conversationId,
  /** The run that sent it, or that it is about. */
  activationId: i.activationId,
  /** Of an approval request; null when the call was requested again later, which another item is about. */
  approvalStatus: sql<ApprovalStatus | null>`iif(${requested.createdAt} <= ${i.createdAt}, ${requested.status}, NULL)`,
  approvalExpiresAt: nullable(requested.expiresAt),
  /** The schedule of the run that sent it outside of threads; null for other items. */
  scheduleKey: sql<string | null>`CASE WHEN ${i.type} = 'reply' AND ${i.postId} IS NULL THEN (
    SELECT ${claimed.scheduleKey} FROM ${inboxItems} ${claimed}
    WHERE ${claimed.claimedBy} = ${i.activationId} AND ${claimed.scheduleKey} IS NOT NULL LIMIT 1) END`,
}

const itemTables = sql`${inboxItems} ${i} LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
  LEFT JOIN ${posts} ${p} ON ${p.id} = ${i.postId}
  LEFT JOIN ${approvals} ${requested} ON ${requested.id} = ${i.approvalId}`

type ApprovalStatus = (typeof approvals.$inferSelect)['status']

/** Whether the post of an item, if it has one, is one that the reader reads. */
const isReadableSql = (reader: SQLWrapper): SQL =>
  sql`(${i.postId} IS NULL OR ${canReadSql(sql`coalesce(${p.communityId}, '')`, reader)})`

/** An inbox item with its sender and post. */
export type InboxRow = RowOf<typeof itemFields>

/** Filter and page of an inbox. */
interface InboxPageRequest {
  isUnread: boolean
  /** Keyset: time and id of the last item seen. */
  before: [number, string] | null
  limit: number
}

const farFuture = 9_000_000_000_000_000

type OwnPageValues = ViewerValues & {
  reader: Reader
  beforeAt: number
  beforeId: string
  limit: number
}

const prepareOwnItems = (condition: SQL) =>
  prepare((v: Params<OwnPageValues>) =>
    manySql(
      itemFields,
      sql`FROM ${itemTables}
        WHERE ${i.accountId} = (SELECT ${viewer.id} FROM ${viewer})
          AND (${i.createdAt}, ${i.id}) < (${v.beforeAt}, ${v.beforeId}) ${condition}
          AND ${isReadableSql(v.reader)}
        ORDER BY ${i.createdAt} DESC, ${i.id} DESC LIMIT ${v.limit}`,
      viewerCte(v),
    ),
  )

const selectAllOwnItems = prepareOwnItems(sql``)

const selectUnreadOwnItems = prepareOwnItems(sql`AND ${isUnreadSql(i)}`)

/**
 * Selects a page of the viewer's inbox, newest first. The viewer is a subquery, so authentication costs
 * no extra round trip.
 */
export const selectOwnItems = (
  credential: Credential | null,
  now: number,
  { isUnread, before, limit }: InboxPageRequest,
): Statement<InboxRow[]> => {
  const [beforeAt, beforeId] = before ?? [farFuture, '']
  const select = isUnread ? selectUnreadOwnItems : selectAllOwnItems
  const reader = requestReader(credential, now)
  return select({ ...viewerValues(credential, now), reader, beforeAt, beforeId, limit })
}

interface ItemsRequest {
  accountId: AccountId
  activationId: ActivationId | null
  reader: Reader
  limit: number
}

/**
 * Selects the newest items of an account, for tools. Of private items an activation reads only those of
 * its own conversation, for the same requesters, and its own task, because its reply may be public.
 */
const selectReadableItems = prepare(
  ({ accountId, activationId, reader, limit }: Params<ItemsRequest>) =>
    manySql(
      itemFields,
      sql`FROM ${itemTables}
      WHERE ${i.accountId} = ${accountId} AND (${activationId} IS NULL
        OR NOT (${i.type} = 'dm' OR coalesce(${i.task}, '') = 'manual')
        OR ${i.claimedBy} = ${activationId}
        OR EXISTS (SELECT 1 FROM ${inboxItems} ${own}
          WHERE ${own.claimedBy} = ${activationId} AND ${own.conversationId} = ${i.conversationId}
            AND ${requestersOfItemSql(own)} = ${requestersOfItemSql(i)}))
        AND ${isReadableSql(reader)}
      ORDER BY ${i.createdAt} DESC, ${i.id} DESC LIMIT ${limit}`,
    ),
)

/** Selects the newest items of an account that an activation can read; without one, all of them. */
export const selectItems = (
  { accountId, activationId }: Pick<ItemsRequest, 'accountId' | 'activationId'>,
  limit: number,
): Statement<InboxRow[]> => {
  const reader = actorReader({ accountId, activationId })
  return selectReadableItems({ accountId, activationId, reader, limit })
}

const countUnread = prepare((v: Params<ViewerValues & { reader: Reader }>) =>
  oneSql(
    { unread: number(sql`count(*)`) },
    sql`FROM (SELECT 1 FROM ${unreadItemsSql(i)}
      WHERE ${i.accountId} = (SELECT ${viewer.id} FROM ${viewer}) AND ${isUnreadSql(i)}
        AND ${canReadPostSql(i.postId, v.reader)} LIMIT ${sql.raw(String(limits.unreadCountMax))})`,
    viewerCte(v),
  ),
)

/** Counts the unread items of the viewer's inbox, up to `limits.unreadCountMax`. */
export const countOwnUnread = (credential: Credential | null, now: number): Statement<number> =>
  mapStatement(
    countUnread({ ...viewerValues(credential, now), reader: requestReader(credential, now) }),
    (row) => row?.unread ?? 0,
  )

/**
 * Marks items as read. An agent's open task stays unread: only the commit of an activation consumes it,
 * so that no task is lost.
 */
const markRead = (accountId: AccountId, now: number, condition?: SQL): Statement<void> =>
  write(
    orm
      .update(inboxItems)
      .set({ readAt: now })
      .where(
        and(
          eq(inboxItems.accountId, accountId),
          isNull(inboxItems.readAt),
          eq(inboxItems.isTask, false),
          condition,
        ),
      ),
  )

/** Marks the given items as read. */
export const markItemsRead = (accountId: AccountId, now: number, ids: string[]): Statement<void> =>
  markRead(
    accountId,
    now,
    sql`${inboxItems.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`,
  )

/** Marks all items of an account as read. */
export const markAllItemsRead = (accountId: AccountId, now: number): Statement<void> =>
  markRead(accountId, now)

/** Marks the items of a post as read. */
export const markPostItemsRead = (
  accountId: AccountId,
  now: number,
  postId: string,
): Statement<void> => markRead(accountId, now, sql`${inboxItems.postId} = ${postId}`)

/** The account that was asked, `a`, what its inbox item `i` says, and the run `x` that took the item. */
const fieldsOf = (answerId: SQLWrapper, content: SQLWrapper) => ({
  id: a.id,
  name: a.name,
  kind: a.kind,
  displayName: a.displayName,
  isHosted: flag(sql`${g.accountId} IS NOT NULL`),
  isTask: flag(sql`coalesce(${i.isTask}, 0)`),
  refusal: sql<string | null>`coalesce(${i.refusal}, ${x.replyRefusal})`,
  activationId: sql<string | null>`${x.id}`,
  state: sql<'running' | 'parked' | 'done' | null>`${x.state}`,
  outcome: sql<string | null>`${x.outcome}`,
  answerId: sql<string | null>`${answerId}`,
  content: sql<string | null>`${content}`,
})

const threadFields = fieldsOf(sql`${m.id}`, sql`${m.content}`)

type AnswerRow = RowOf<typeof threadFields>

interface ThreadQuestion {
  postId: string
  /** '' when the post itself asks. */
  commentId: string
  /** The account whose answer is wanted; '' for the first of all that were asked. */
  name: string
  /** Who asked. */
  reader: Reader
}

const idsOf = (reader: SQLWrapper): SQL => sql`(SELECT w.id FROM ${readersSql(reader)} w)`

/**
 * Selects how far an answer is to a post or comment of an account that mentions another. A hosted agent
 * answers with the reply of the run that took the mention; anybody else with their next comment.
 */
const selectThreadAnswer = prepare((v: Params<ThreadQuestion>) =>
  oneSql(
    threadFields,
    sql`FROM ${mentions} ${k} CROSS JOIN ${inboxItems} ${i} ON ${i.accountId} = ${k.accountId}
        AND ${i.createdAt} = ${k.createdAt} AND ${i.postId} = ${k.postId}
        AND coalesce(${i.commentId}, '') = ${k.commentId} AND ${i.type} = 'mention'
      JOIN ${accounts} ${a} ON ${a.id} = ${k.accountId}
      LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${activations} ${x} ON ${x.id} = ${i.claimedBy}
      LEFT JOIN ${comments} ${m} ON ${isCommentShownSql(m)}
        AND ${m.id} = iif(${g.accountId} IS NOT NULL, ${x.replyCommentId}, (SELECT ${r.id} FROM ${comments} ${r}
          WHERE ${r.postId} = ${k.postId} AND ${r.authorId} = ${k.accountId} AND ${r.createdAt} > ${k.createdAt}
            AND ${r.deletedAt} IS NULL
          ORDER BY ${r.createdAt} LIMIT 1))
      WHERE ${k.postId} = ${v.postId} AND ${k.commentId} = ${v.commentId} AND ${i.fromAccountId} IN ${idsOf(v.reader)}
        AND (${v.name} = '' OR ${a.name} = ${v.name}) AND ${canReadPostSql(k.postId, v.reader)}
      ORDER BY ${m.id} IS NULL, ${i.isTask} DESC LIMIT 1`,
  ),
)

const privateFields = fieldsOf(sql`${d.id}`, sql`${d.content}`)

/** Selects how far the other account's answer is to the newest message of an account in a conversation. */
const selectPrivateAnswer = prepare((v: Params<{ conversationId: string; reader: Reader }>) =>
  oneSql(
    privateFields,
    sql`FROM ${conversationMembers} ${n} JOIN ${accounts} ${a} ON ${a.id} = ${n.otherId}
      JOIN ${directMessages} ${asked} ON ${asked.id} = (SELECT ${d.id} FROM ${directMessages} ${d}
        WHERE ${d.conversationId} = ${n.conversationId} AND ${d.authorId} = ${n.accountId}
        ORDER BY ${d.createdAt} DESC, ${d.id} DESC LIMIT 1)
      LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${inboxItems} ${i} ON ${i.conversationId} = ${n.conversationId} AND ${i.accountId} = ${n.otherId}
        AND ${i.type} = 'dm' AND ${i.createdAt} = ${asked.createdAt}
      LEFT JOIN ${activations} ${x} ON ${x.id} = ${i.claimedBy}
      LEFT JOIN ${directMessages} ${d} ON ${d.id} = (SELECT ${d.id} FROM ${directMessages} ${d}
        WHERE ${d.conversationId} = ${n.conversationId} AND ${d.authorId} = ${n.otherId}
          AND (${d.createdAt}, ${d.id}) > (${asked.createdAt}, ${asked.id})
        ORDER BY ${d.createdAt}, ${d.id} LIMIT 1)
      WHERE ${n.accountId} IN ${idsOf(v.reader)} AND ${n.conversationId} = ${v.conversationId}`,
  ),
)

/** Selects how far the answer to a question is; undefined when the reader asked nobody there. */
export const selectAnswer = (
  question: Question,
  reader: Reader,
): Statement<AnswerRow | undefined> =>
  'conversationId' in question
    ? selectPrivateAnswer({ conversationId: question.conversationId, reader })
    : selectThreadAnswer({
        postId: question.postId,
        commentId: question.commentId ?? '',
        name: question.name?.toLowerCase() ?? '',
        reader,
      })

/** The mentions of a stored post or comment. */
export interface MentionedNames {
  postId: PostId
  /** Null for the post itself. */
  commentId: CommentId | null
  /** Names that the text mentions, in lower case and in their order. */
  names: readonly string[]
  /** Has to read the text, and its author has to be among those who read. */
  reader: Reader
  now: number
}

type Values = Params<Omit<MentionedNames, 'names'> & { names: string }>

/** The text: `author_id`, `at`, `community_id`. */
const textSql = ({ postId, commentId, reader }: Values): SQL => sql`
  SELECT coalesce(${c.authorId}, ${p.authorId}) AS author_id, coalesce(${c.createdAt}, ${p.createdAt}) AS at,
    ${p.communityId} AS community_id
  FROM ${posts} ${p} LEFT JOIN ${comments} ${c} ON ${c.id} = ${commentId} AND ${c.postId} = ${p.id}
  WHERE ${p.id} = ${postId} AND (${commentId} IS NULL OR ${c.id} IS NOT NULL) AND ${canReadSql(p.communityId, reader)}
    AND coalesce(${c.authorId}, ${p.authorId}) IN (SELECT r.id FROM ${readersSql(reader)} r)`

/**
 * Why a name reached nobody; NULL when its account was notified or woken. A refusal that delivery stored stands
 * before what holds an agent back now.
 */
const causeSql = (v: Values): SQL<string> => sql<string>`CASE
  WHEN ${a.id} IS NULL THEN 'unknown'
  WHEN ${a.kind} = 'system' THEN 'system'
  WHEN ${a.id} = text.author_id THEN 'self'
  WHEN ${a.id} NOT IN (SELECT account_id FROM (${mentionedSql(v.names)})) THEN 'too_many'
  WHEN ${a.isImported} = 1 THEN 'imported'
  WHEN NOT ${canAccountReadSql(sql`text.community_id`, a)} THEN ${sql.raw(`'${unreadableRefusal}'`)}
  WHEN ${g.accountId} IS NULL THEN iif(${isAccountDisabledSql(a)}, 'stopped', NULL)
  WHEN ${i.refusal} IS NOT NULL THEN ${i.refusal}
  WHEN ${g.answersMentions} = 0 THEN 'mentions_off'
  WHEN ${isStoppedAccountSql(a, v.now)} THEN 'stopped'
  WHEN ${isHubPausedSql} THEN 'hub_paused'
  WHEN ${g.isPaused} = 1 THEN 'paused' END`

const unreachedCte = (v: Values): SQL => sql`WITH
  text AS MATERIALIZED (${textSql(v)}),
  unreached AS MATERIALIZED (
    SELECT n.key AS nth, n.value AS name, text.community_id, ${causeSql(v)} AS cause
    FROM text CROSS JOIN json_each(${v.names}) n LEFT JOIN ${accounts} ${a} ON ${a.name} = n.value
      LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${inboxItems} ${i} ON ${i.accountId} = ${a.id} AND ${i.createdAt} = text.at
        AND ${i.postId} = ${v.postId} AND ${i.commentId} IS ${v.commentId} AND ${i.type} = 'mention')`

/** Whether an account is worth being named to somebody who misspelt a name. */
const isSuggestedSql = sql`${b.kind} <> 'system' AND ${b.isImported} = 0 AND ${b.disabledAt} IS NULL AND ${b.deletedAt} IS NULL`

const neighbours = sql.raw('6')

const suggestedAgents = sql.raw('50')

/** Accounts whose names begin like an unknown one, and agents of this hub, as a JSON list. Accounts are public on a hub. */
const similarSql = (name: SQLWrapper): SQL<string> => {
  const next = (order: SQL) =>
    sql`SELECT * FROM (SELECT ${b.name}, ${b.kind}, ${b.isImported}, ${b.disabledAt}, ${b.deletedAt} FROM ${accounts} ${b} WHERE ${order} LIMIT ${neighbours})`
  return sql<string>`(SELECT json_group_array(name) FROM (
    SELECT ${b.name} FROM ${agents} ${g} CROSS JOIN ${accounts} ${b} ON ${b.id} = ${g.accountId}
      WHERE ${g.accountId} IN (SELECT account_id FROM ${agents} ORDER BY name LIMIT ${suggestedAgents}) AND ${isSuggestedSql}
    UNION SELECT ${b.name} FROM (${next(sql`${b.name} > ${name} ORDER BY ${b.name}`)}) ${b} WHERE ${isSuggestedSql}
    UNION SELECT ${b.name} FROM (${next(sql`${b.name} < ${name} ORDER BY ${b.name} DESC`)}) ${b} WHERE ${isSuggestedSql}))`
}

const isRefusedSql = sql`t.cause NOT IN ('unknown', 'system', 'self', 'too_many', 'imported')`

const unreachedFields = {
  name: sql<string>`t.name`,
  /** A refusal that delivery stored, or a key of `unreachedReasons`. */
  cause: sql<string>`t.cause`,
  /** Of the community, for a refusal by a reply limit. */
  limits: limitFieldsIn(sql`t.community_id`, isRefusedSql),
  /** JSON list of names that an unknown one can mean. */
  similar: sql<string>`CASE WHEN t.cause = 'unknown' THEN ${similarSql(sql`t.name`)} ELSE '[]' END`,
}

/** A mentioned name that reached nobody. */
export type UnreachedName = RowOf<typeof unreachedFields>

const preparedUnreached = prepare((v: Values) =>
  manySql(
    unreachedFields,
    sql`FROM unreached t WHERE t.cause IS NOT NULL ORDER BY t.nth`,
    unreachedCte(v),
  ),
)

/**
 * Selects the mentioned names of a text that notified nobody and woke no agent, in their order; of its first
 * `limits.unreachedNamesMax` names. Put it after the statements that insert the text and its inbox items.
 */
export const selectUnreached = ({ names, ...text }: MentionedNames): Statement<UnreachedName[]> =>
  preparedUnreached({ ...text, names: JSON.stringify(names.slice(0, limits.unreachedNamesMax)) })

/** Converts what was read about a question to how far its answer is. */
export function toQuestionProgress(row: AnswerRow): QuestionProgress {
  const { name, activationId, answerId, content } = row
  const answer = answerId === null || content === null ? null : { id: answerId, content }
  const reason = answer ? null : findReason(row)
  const state = row.state === 'done' ? 'ended' : (row.state ?? 'waiting')
  return {
    name,
    state: answer ? 'answered' : reason ? 'ended' : state,
    activationId: activationId as ActivationId | null,
    answer,
    reason,
  }
}

/**
 * Reads until there is something or the time is over, less often the longer it takes: once a second at
 * first, then every two.
 *
 * @param isClosed whether the client has gone
 */
export async function readUntil<Value>(
  read: () => Promise<Value>,
  isFound: (value: Value) => boolean,
  { timeoutMs, isClosed }: { timeoutMs: number; isClosed(): boolean },
): Promise<Value> {
  let waitedMs = 0
  for (;;) {
    const value = await read()
    if (isFound(value) || waitedMs >= timeoutMs || isClosed()) return value
    const pauseMs = Math.min(timeoutMs - waitedMs, waitedMs < 5_000 ? 1_000 : 2_000)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    waitedMs += pauseMs
  }
}

/** Returns why there will be no answer; null while there can be one. */
function findReason({ name, state, outcome, refusal, isHosted, isTask }: AnswerRow): string | null {
  if (refusal === withdrawnRefusal) return 'The question was withdrawn before a run started.'
  if (refusal !== null) return `The reply was refused: ${refusal}`
  if (state === 'done') return `The run of ${name} ended without an answer: ${outcome}`
  return isHosted && !isTask ? `${name} does not answer here` : null
}

const followingFields = {
  agentId: a.id,
  agentName: a.name,
  /** Its newest answer in the thread. */
  answerId: sql<CommentId>`t.reply_comment_id`,
  /** Whether the viewer may end it. */
  mayEnd: flag(
    mayEndSql(sql`(SELECT ${viewer.id} FROM ${viewer})`, { post: sql`t.post_id`, agent: a.id }),
  ),
}

/** An agent that follows a thread: people reach it there without its name. */
export type FollowingRow = RowOf<typeof followingFields>

const preparedFollowing = prepare((v: Params<ViewerValues & { postId: string; reader: Reader }>) =>
  manySql(
    followingFields,
    sql`FROM (SELECT ${x.postId}, ${x.agentId} AS agent_id, ${x.replyCommentId}, max(${x.startedAt})
        FROM ${activations} ${x} WHERE ${x.postId} = ${v.postId} AND ${x.replyCommentId} IS NOT NULL
        GROUP BY ${x.agentId}) t
      CROSS JOIN ${accounts} ${a} ON ${a.id} = t.agent_id
      WHERE ${followsSql({ post: v.postId, agent: a.id, now: v.now }, sql`''`)}
        AND ${canReadPostSql(v.postId, v.reader)}
      ORDER BY ${a.name} LIMIT 20`,
    viewerCte(v),
  ),
)

/** Selects the agents that follow a thread, with whether the viewer may end it. */
export const selectFollowing = (
  credential: Credential | null,
  now: number,
  postId: string,
): Statement<FollowingRow[]> =>
  preparedFollowing({
    ...viewerValues(credential, now),
    postId,
    reader: requestReader(credential, now),
  })

interface TargetQuery {
  postId: string
  agentName: string
  accountId: AccountId
  reader: Reader
}

const targetFields = (v: Params<TargetQuery>) => ({
  postId: p.id,
  agentId: a.id,
  agent: personSql(a),
  /** Whether the account wrote the post or asked the agent there. */
  isOwn: flag(sql`(${isThreadAuthorSql(v.accountId, p.id)}
    OR ${isRequesterInThreadSql(v.accountId, { post: p.id, agent: a.id })})`),
  isModerator: flag(moderatesThreadSql(v.accountId, p.id)),
})

/** An agent in a thread, with what an account may change there. */
export type FollowingTarget = RowOf<ReturnType<typeof targetFields>>

/** Selects a thread that the reader reads, and an agent of this hub. */
export const selectFollowingTarget: (query: TargetQuery) => Statement<FollowingTarget | undefined> =
  prepare((v: Params<TargetQuery>) =>
    oneSql(
      targetFields(v),
      sql`FROM ${posts} ${p} CROSS JOIN ${accounts} ${a} ON ${a.name} = ${v.agentName}
        JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
        WHERE ${p.id} = ${v.postId} AND ${p.deletedAt} IS NULL AND ${canReadSql(p.communityId, v.reader)}`,
    ),
  )

/** Ends that an agent follows a thread, until somebody mentions it there again. */
export const endFollowing: (of: {
  postId: PostId
  agentId: AccountId
  endedAt: number
}) => Statement<void> = prepare(
  (v: Params<{ postId: PostId; agentId: AccountId; endedAt: number }>) =>
    write(
      insertSelect(
        endedFollowings,
        { postId: v.postId, agentId: v.agentId, endedAt: v.endedAt },
        sql`WHERE true ON CONFLICT (${bare(endedFollowings.postId)}, ${bare(endedFollowings.agentId)})
          DO UPDATE SET ${bare(endedFollowings.endedAt)} = excluded.${bare(endedFollowings.endedAt)}`,
      ),
    ),
)
