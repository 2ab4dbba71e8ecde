import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, writeReturned } from '../../shared/db/statement'
import { idAt, insertSelect, newIdSql } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommentId, InboxItemId, PostId } from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { itemsOfAgent, itemsOfList, selectItemMailSql } from '../mail/queue-queries'
import { isPrivateRunSql } from '../rules/readable-sql'
import { isRunningSql } from '../rules/waiting-sql'
import { mayReceiveSql } from '../rules/webhooks-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { reports } from '../schema/budgets'
import { contentReports } from '../schema/moderation'
import { comments, mentions, posts } from '../schema/posts'
import { outbox, type WebhookEvent, webhooks } from '../schema/webhooks'

/*
 * What happens is queued for webhooks in the batch that writes it. Each of these statements follows what it is about,
 * finds it in the database, and answers whether it queued anything. A hub without webhooks reads no row for it, and a
 * statement that is repeated queues nothing again.
 */

const w = alias(webhooks, 'w')
const a = alias(accounts, 'a')

/** One row, or none in a hub without webhooks. What stands behind it in FROM is not read then. */
const anyWebhook = sql`(SELECT 1 FROM ${webhooks} LIMIT 1)`

/** The columns of an event: SQL over what is in `from`. */
interface EventColumns {
  event: SQLWrapper
  /** Unique for the event among those of its kind. */
  id: SQLWrapper
  community: SQLWrapper
  post?: SQLWrapper
  comment?: SQLWrapper
  subject?: SQLWrapper
  data?: SQLWrapper
}

/**
 * Queues events for the webhooks that ask for them and whose owners may read them.
 *
 * @param from a SELECT of rows with what `columns` names
 * @param mail a SELECT of rows of the outbox that are mail: one statement queues both
 */
const queueSql = (
  { event, id, community, post, comment, subject, data }: EventColumns,
  from: SQL,
  { now, like }: { now: SQLWrapper; like: SQLWrapper },
  mail?: SQL,
): Statement<boolean> =>
  writeReturned(
    insertSelect(
      outbox,
      {
        id: newIdSql(like),
        kind: 'webhook',
        targetId: w.id,
        event,
        key: sql`${event} || ':' || ${id}`,
        communityId: community,
        postId: post ?? null,
        commentId: comment ?? null,
        subjectId: subject ?? null,
        data: data ?? null,
        createdAt: now,
        nextAt: now,
      },
      sql`FROM (${from}) e
        CROSS JOIN ${webhooks} ${w} INDEXED BY webhooks_enabled ON coalesce(${w.communityId}, '') IN ('', coalesce(${community}, ''))
          AND ${w.disabledAt} IS NULL
        CROSS JOIN ${accounts} ${a} ON ${a.id} = ${w.accountId}
      WHERE EXISTS (SELECT 1 FROM json_each(${w.events}) n WHERE n.value = ${event})
        AND ${mayReceiveSql({ event, community, place: w.communityId, owner: a, now })}
      ${mail && sql`UNION ALL ${mail}`}
      ON CONFLICT DO NOTHING RETURNING 1`,
    ),
  )

const name = (event: WebhookEvent): SQL => sql.raw(`'${event}'`)

const c = alias(comments, 'c')
const p = alias(posts, 'p')
const m = alias(mentions, 'm')
const x = alias(activations, 'x')
const r = alias(contentReports, 'r')
const q = alias(approvals, 'q')
const d = alias(reports, 'd')

/** SELECT of a text and its mentions, for `textColumns`; a condition says whether it was written. */
const fromText = (
  { postId, commentId }: Readonly<Record<'postId' | 'commentId', SQLWrapper>>,
  isWritten: SQL,
): SQL => sql`
  SELECT iif(n.value IS NOT NULL, ${name('mention.created')}, iif(${commentId} IS NULL, ${name('post.created')}, ${name('comment.created')})) AS event,
    n.value AS account_id, coalesce(${commentId}, ${p.id}) || coalesce(':' || n.value, '') AS id,
    ${p.id} AS post_id, ${commentId} AS comment_id, ${p.communityId} AS community_id
  FROM ${anyWebhook} CROSS JOIN json_each((SELECT json_group_array(account_id) FROM (SELECT NULL AS account_id
      UNION ALL SELECT ${m.accountId} FROM ${mentions} ${m}
        WHERE ${m.postId} = ${postId} AND ${m.commentId} = coalesce(${commentId}, '')))) n
    CROSS JOIN ${posts} ${p} ${unfiltered('guarded write')} ON ${p.id} = ${postId}
  WHERE ${isWritten}`

const textColumns: EventColumns = {
  event: sql`e.event`,
  id: sql`e.id`,
  community: sql`e.community_id`,
  post: sql`e.post_id`,
  comment: sql`e.comment_id`,
  subject: sql`e.account_id`,
}

interface Written {
  postId: PostId
  /** Null for the post itself. */
  commentId: CommentId | null
  now: number
}

const preparedText = prepare((v: Params<Written & { like: string; itemIds: string }>) =>
  queueSql(textColumns, fromText(v, sql`1`), v, selectItemMailSql(v, itemsOfList(v.itemIds))),
)

/**
 * Queues a post or comment and its mentions.
 *
 * @param itemIds inbox items that were inserted with it, of which their accounts are notified by mail
 */
export const queueText = ({
  itemIds = [],
  ...written
}: Written & { itemIds?: readonly InboxItemId[] }): Statement<boolean> => {
  const { postId, commentId, now } = written
  return preparedText({ postId, commentId, now, like: idAt(now), itemIds: JSON.stringify(itemIds) })
}

interface Ending {
  activationId: ActivationId
  /** The reply, and its thread; null for none. */
  postId: PostId | null
  commentId: CommentId | null
  agentId: AccountId
  /** The id of the reply, whose time part the ids of its inbox items have; null without one. */
  replyId: string | null
  now: number
}

const preparedEnding = prepare((v: Params<Ending & { like: string }>) =>
  queueSql(
    textColumns,
    sql`${fromText(
      v,
      sql`${isRunningSql(v.activationId)}
        AND EXISTS (SELECT 1 FROM ${comments} ${c} ${unfiltered('own run')} WHERE ${c.id} = ${v.commentId})`,
    )}
      UNION ALL SELECT ${name('run.finished')}, ${x.id}, ${x.id}, ${x.postId}, NULL, ${x.communityId}
        FROM ${anyWebhook} CROSS JOIN ${activations} ${x}
        WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running'
          AND NOT ${isPrivateRunSql(x)}`,
    v,
    selectItemMailSql(v, itemsOfAgent(v.agentId, v.replyId)),
  ),
)

/**
 * Queues the end of a run and its reply, before its row says that it has ended. An end that is private to the requesters
 * of the run is not queued.
 */
export const queueEnding = (ending: Ending): Statement<boolean> =>
  preparedEnding({ ...ending, like: idAt(ending.now) })

const preparedApprovals = prepare((v: Params<{ agentId: AccountId; now: number; like: string }>) =>
  queueSql(
    {
      event: name('approval.requested'),
      id: sql`e.id || ':' || e.created_at`,
      community: sql`e.community_id`,
      subject: sql`e.id`,
    },
    sql`SELECT ${q.id} AS id, ${q.createdAt} AS created_at, ${x.communityId} AS community_id
      FROM ${anyWebhook} CROSS JOIN ${approvals} ${q} INDEXED BY approvals_new LEFT JOIN ${activations} ${x} ON ${x.id} = coalesce(${q.activationId}, ${q.runId})
      WHERE ${q.createdAt} = ${v.now}
        AND ${q.accountId} = ${v.agentId} AND ${q.status} = 'pending'`,
    v,
    selectItemMailSql(v, itemsOfAgent(v.agentId, v.like)),
  ),
)

/** Queues the requests for approval that an account has made now. */
export const queueApprovals = (agentId: AccountId, now: number): Statement<boolean> =>
  preparedApprovals({ agentId, now, like: idAt(now) })

const preparedReport = prepare((v: Params<{ id: string; now: number; like: string }>) =>
  queueSql(
    {
      event: name('report.created'),
      id: sql`e.id`,
      community: sql`e.community_id`,
      post: sql`e.post_id`,
      comment: sql`e.comment_id`,
      subject: sql`e.id`,
    },
    sql`SELECT ${r.id} AS id, ${r.communityId} AS community_id, ${r.postId} AS post_id, nullif(${r.commentId}, '') AS comment_id
      FROM ${anyWebhook} CROSS JOIN ${contentReports} ${r} WHERE ${r.id} = ${v.id}`,
    v,
  ),
)

/** Queues the report of a post or comment to moderators. */
export const queueReport = (id: string, now: number): Statement<boolean> =>
  preparedReport({ id, now, like: idAt(now) })

/** A post of the hub, if it was written; about a budget with its key and what it says. */
interface HubReport {
  key?: string
  postId: string
  level?: object | null
}

const preparedHubReports = prepare((v: Params<{ list: string; now: number; like: string }>) =>
  queueSql(
    {
      event: sql`e.event`,
      id: sql`e.id`,
      community: sql`e.community_id`,
      post: sql`e.post_id`,
      data: sql`e.data`,
    },
    sql`SELECT ${name('post.created')} AS event, ${p.id} AS id, ${p.communityId} AS community_id, ${p.id} AS post_id, NULL AS data
        FROM ${anyWebhook} CROSS JOIN json_each(${v.list}) n CROSS JOIN ${posts} ${p} ${unfiltered('guarded write')} ON ${p.id} = n.value ->> 'postId'
      UNION ALL SELECT ${name('budget.level')}, ${d.key}, NULL, NULL, n.value -> 'level'
        FROM ${anyWebhook} CROSS JOIN json_each(${v.list}) n CROSS JOIN ${reports} ${d} ON ${d.key} = n.value ->> 'key' AND ${d.postId} = n.value ->> 'postId'
        WHERE n.value ->> 'level' IS NOT NULL`,
    v,
  ),
)

/** Queues posts of the hub, and the budgets that some of them report. */
export const queueHubReports = (list: readonly HubReport[], now: number): Statement<boolean> =>
  preparedHubReports({
    list: JSON.stringify(list.map(({ key, postId, level }) => ({ key, postId, level }))),
    now,
    like: idAt(now),
  })
