import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect, newIdSql, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import type { CommitRequest } from '../contract/hub'
import { unfiltered } from '../database/unfiltered-sql'
import { countRefusedMentions } from '../inbox/delivery-queries'
import type { IndexedText } from '../markdown/render-text'
import { insertUses } from '../media/queries'
import { insertReplyStatements } from '../messages/write-queries'
import { canAccountReadSql } from '../rules/readable-sql'
import { unreadableRefusal } from '../rules/reply-limits'
import {
  communityOfSql,
  countAgentRepliesSql,
  explainReplyLimitSql,
  hopsOfActivationSql,
  replyLimitSql,
  wakeLimitSql,
} from '../rules/reply-limits-sql'
import { isRequestSql, isRunningSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { comments, mentions, posts } from '../schema/posts'
import { isWriterSilencedSql } from '../viewers/ban-sql'

/**
 * A rendered reply with the images that it shows, the accounts that it mentions, and those of them to wake: mentioned in
 * its own text.
 */
export interface ReplyText extends IndexedText {
  images: string[]
  mentioned: string[]
  toWake: string[]
}

interface Values {
  activationId: ActivationId
  agentId: AccountId
  now: number
  /** Id and text of the reply. */
  id: CommentId
  content: string
  /** The run had read untrusted text. */
  isUntrusted: boolean
}

interface ThreadValues extends Values {
  postId: PostId
  parentId: CommentId | null
  /** JSON list of names. */
  mentioned: string
  /** JSON list of names. */
  toWake: string
}

const p = alias(posts, 'p')

const parent = alias(comments, 'parent')

const c = alias(comments, 'c')

const i = alias(inboxItems, 'i')

const m = alias(mentions, 'm')

const u = alias(accounts, 'u')

const g = alias(agents, 'g')

const depthMax = limits.comment.depthMax

const isBannedFromReplySql = (
  { agentId: accountId, activationId, now }: Params<Values>,
  communityId: SQLWrapper,
): SQL => isWriterSilencedSql({ accountId, activationId }, communityId, now)

/**
 * Inserts the reply, if the thread is open, what it answers was not removed, neither the agent nor one of
 * its requesters is banned or muted there, and no reply limit is reached. Below a parent at the deepest
 * level the reply is attached to the parent's own parent.
 */
const insertComment = prepare((v: Params<ThreadValues & IndexedText>) =>
  write(
    insertSelect(
      comments,
      {
        id: v.id,
        postId: p.id,
        parentId: sql`CASE WHEN ${parent.depth} >= ${depthMax} THEN ${parent.parentId} ELSE ${parent.id} END`,
        authorId: v.agentId,
        content: v.content,
        depth: sql`min(coalesce(${parent.depth} + 1, 0), ${depthMax})`,
        activationId: v.activationId,
        createdAt: v.now,
        hops: sql`coalesce(${hopsOfActivationSql(v.activationId)}, 0)`,
        html: v.html,
        htmlVersion: v.htmlVersion,
        searchContent: v.searchContent,
        isUntrusted: v.isUntrusted,
      },
      sql`FROM ${posts} ${p} ${unfiltered('own run')}
      LEFT JOIN ${comments} ${parent} ON ${parent.id} = ${v.parentId} AND ${parent.postId} = ${p.id}
      WHERE ${p.id} = ${v.postId} AND ${p.deletedAt} IS NULL AND ${p.isLocked} = 0
        AND ${parent.removalId} IS NULL AND NOT ${isBannedFromReplySql(v, p.communityId)}
        AND ${isRunningSql(v.activationId)}
        AND ${replyLimitSql({ activation: v.activationId, post: v.postId, communityId: p.communityId, agent: v.agentId, now: v.now })} IS NULL
      ON CONFLICT DO NOTHING`,
    ),
  ),
)

/** Sends the reply to a task outside a thread to the inbox of its requester, or of whoever saved its schedule. */
const insertInboxReply = prepare((v: Params<Values>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: v.id,
        accountId: u.id,
        type: 'reply',
        fromAccountId: v.agentId,
        content: v.content,
        createdAt: v.now,
        activationId: v.activationId,
        isUntrusted: v.isUntrusted,
      },
      sql`FROM ${inboxItems} ${i} JOIN ${accounts} ${u} ON ${u.id} = coalesce(${i.savedBy}, ${i.fromAccountId})
      WHERE ${i.claimedBy} = ${v.activationId} AND ${i.type} = 'task' AND ${u.kind} <> 'system'
        AND ${u.id} <> ${v.agentId} AND ${isRunningSql(v.activationId)}
      LIMIT 1
      ON CONFLICT DO NOTHING`,
    ),
  ),
)

/** Inserts the mentions of the reply: the first ten names that are accounts. */
const insertReplyMentions = prepare((v: Params<ThreadValues>) =>
  write(
    insertSelect(
      mentions,
      { postId: c.postId, commentId: c.id, accountId: u.id, createdAt: c.createdAt },
      sql`FROM ${comments} ${c} CROSS JOIN json_each(${v.mentioned}) n ${unfiltered('own run')}
      CROSS JOIN ${accounts} ${u} ON ${u.name} = n.value
      WHERE ${c.activationId} = ${v.activationId} AND ${u.kind} <> 'system' AND ${u.id} <> ${c.authorId}
        AND ${isRunningSql(v.activationId)}
      ORDER BY n.key LIMIT ${limits.mentionsPerItemMax}`,
      { verb: 'INSERT OR IGNORE' },
    ),
  ),
)

/** The accounts to notify of a reply, as the tables `recipients`, `items` and `limited`. */
const recipientsSql = (v: Params<ThreadValues>): SQL => sql`
  WITH recipients (id, is_requester) AS (
    SELECT id, max(is_requester) FROM (
      SELECT ${i.fromAccountId} AS id, 1 AS is_requester FROM ${inboxItems} ${i}
        WHERE ${i.claimedBy} = ${v.activationId} AND ${isRequestSql(i)}
      UNION ALL
      SELECT ${m.accountId}, 0 FROM ${comments} ${c}
        CROSS JOIN ${mentions} ${m} ON ${m.postId} = ${c.postId} AND ${m.commentId} = ${c.id}
        WHERE ${c.activationId} = ${v.activationId}
    ) GROUP BY id),
  items AS (
    SELECT ${u.id} AS to_id, r.is_requester, n.key AS nth,
      n.key IS NOT NULL AND coalesce(${g.answersMentions}, 0) = 1 AS answers,
      ${c.postId}, ${c.id} AS comment_id, ${c.authorId}, ${c.createdAt}, ${c.hops} + 1 AS hops,
      ${canAccountReadSql(sql`(SELECT ${p.communityId} FROM ${posts} ${p} ${unfiltered('own run')} WHERE ${p.id} = ${v.postId})`, u)} AS can_read
    FROM recipients r CROSS JOIN ${accounts} ${u} ON ${u.id} = r.id
    CROSS JOIN ${comments} ${c} ON ${c.activationId} = ${v.activationId}
    LEFT JOIN json_each(${v.toWake}) n ON ${u.name} = n.value
    LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${u.id}
    WHERE ${u.id} <> ${c.authorId} AND ${isRunningSql(v.activationId)}
      AND (r.is_requester OR (${u.isImported} = 0 AND (${u.kind} = 'human' OR n.key IS NOT NULL)))),
  limited AS (
    SELECT *, CASE WHEN NOT can_read THEN ${sql.raw(`'${unreadableRefusal}'`)} WHEN answers THEN ${wakeLimitSql(
      {
        communityId: communityOfSql(sql`numbered.post_id`),
        hops: sql`hops`,
        written: countAgentRepliesSql(sql`numbered.post_id`),
        nth: sql`nth_answer`,
      },
    )} END AS refusal
    FROM (SELECT *, sum(answers) OVER (ORDER BY nth) AS nth_answer FROM items WHERE can_read OR answers) numbered)`

/**
 * Notifies the requesters and the other mentioned accounts of the reply. An agent mentioned in the
 * reply's own text is woken unless a reply limit is reached; addressing a requester wakes no agent.
 */
const notifyRecipients = prepare((v: Params<ThreadValues>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.id),
        accountId: sql`to_id`,
        type: sql`iif(is_requester AND NOT answers, 'reply', 'mention')`,
        postId: sql`post_id`,
        commentId: sql`comment_id`,
        fromAccountId: sql`author_id`,
        createdAt: sql`created_at`,
        isTask: sql`answers AND refusal IS NULL`,
        hops: sql`hops`,
        refusal: sql`refusal`,
        isUntrusted: v.isUntrusted,
        requesters: sql`(SELECT ${activations.requesters} FROM ${activations} WHERE ${activations.id} = ${v.activationId})`,
      },
      sql`FROM limited`,
      { before: recipientsSql(v) },
    ),
  ),
)

/** Notifies the requesters when the reply could not be posted in the thread. */
const notifyNotPosted = prepare((v: Params<ThreadValues>) => {
  const item = alias(inboxItems, 'item')
  const limit = replyLimitSql({
    activation: v.activationId,
    post: item.postId,
    communityId: communityOfSql(item.postId),
    agent: v.agentId,
    now: v.now,
  })
  return write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.id),
        accountId: item.fromAccountId,
        type: 'system',
        postId: item.postId,
        fromAccountId: v.agentId,
        content: explainReplyLimitSql(
          limit,
          item.postId,
          sql`'The answer could not be posted: the thread is locked, what it answers was deleted or removed, or the agent or an account that asked is banned or muted there.'`,
        ),
        createdAt: v.now,
      },
      sql`FROM (SELECT DISTINCT ${i.fromAccountId}, ${i.postId} FROM ${inboxItems} ${i}
        WHERE ${i.claimedBy} = ${v.activationId} AND ${i.fromAccountId} IS NOT NULL
          AND ${isRequestSql(i)}) ${item}
      WHERE ${isRunningSql(v.activationId)}
        AND NOT EXISTS (SELECT 1 FROM ${comments} ${c} ${unfiltered('own run')} WHERE ${c.activationId} = ${v.activationId})`,
    ),
  )
})

const countComment = prepare(({ activationId }: Params<{ activationId: ActivationId }>) =>
  write(
    updateSet(
      posts,
      { commentCount: sql`${posts.commentCount} + 1` },
      sql`WHERE ${posts.id} = (SELECT ${activations.postId} FROM ${activations}
          WHERE ${activations.id} = ${activationId} AND ${activations.state} = 'running')
        AND EXISTS (SELECT 1 FROM ${comments} ${unfiltered('own run')}
          WHERE ${comments.activationId} = ${activationId})`,
    ),
  ),
)

/** Returns the statements of COMMIT that post the reply and notify the accounts that it is for. */
export function replyStatements(request: CommitRequest, text: ReplyText | null): Statement<void>[] {
  const { activationId, agentId, now, reply, hasReadUntrusted: isUntrusted } = request
  if (!reply || !text) return []
  const { images, mentioned, toWake, ...columns } = text
  const { id, content, parentId, postId } = reply
  const values = { activationId, agentId, now, id, content, isUntrusted }
  if (postId === null) return [insertInboxReply(values), ...insertReplyStatements(request, reply)]
  const lists = { mentioned: JSON.stringify(mentioned), toWake: JSON.stringify(toWake) }
  const inThread = { ...values, ...lists, postId, parentId }
  const runningId = activationId
  return [
    insertComment({ ...inThread, ...columns }),
    ...insertUses({ id, kind: 'comment', authorId: agentId }, images),
    ...(mentioned.length > 0 ? [insertReplyMentions(inThread)] : []),
    notifyRecipients(inThread),
    ...(toWake.length > 0
      ? [countRefusedMentions({ postId, commentId: id, at: now, runningId })]
      : []),
    notifyNotPosted(inThread),
    countComment({ activationId }),
  ]
}
