import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { webhookLimits } from '../../shared/config'
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
import type { CommentId, InboxItemId, PostId } from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { optionalPersonSql } from '../rules/people-sql'
import { optionalPlaceSql } from '../rules/places'
import { isPrivateRunSql } from '../rules/readable-sql'
import { isCommentShownSql, isPostShownSql } from '../rules/shown-sql'
import { mayReceiveSql } from '../rules/webhooks-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { communities } from '../schema/communities'
import { inboxItems } from '../schema/inbox'
import { contentReports } from '../schema/moderation'
import { comments, posts } from '../schema/posts'
import { outbox, webhooks } from '../schema/webhooks'

const w = alias(webhooks, 'w')
const o = alias(outbox, 'o')
const a = alias(accounts, 'a')

/** The first time at which a delivery to the webhook `w` is due: one row of an index, however many wait. */
const firstDueSql = sql<number | null>`(SELECT ${o.nextAt} FROM ${outbox} ${o} INDEXED BY outbox_due
  WHERE ${o.kind} = 'webhook' AND ${o.targetId} = ${w.id} AND ${o.state} = 'pending' ORDER BY ${o.nextAt} LIMIT 1)`

const nextDeliverySql = sql<number | null>`min(max(${w.retryAt}, ${firstDueSql}))`

/** Deliveries that are kept no longer. */
const fromOldSql = (now: SQLWrapper): SQL =>
  sql`${outbox} ${o} WHERE ${o.createdAt} < ${now} - ${webhookLimits.keptMs}`

/** Selects when the next delivery is due. It reads two rows for each webhook, however much waits for it. */
export const selectNextDelivery = prepare((_: Params<Record<never, never>>) =>
  oneSql({ at: nextDeliverySql }, sql`FROM ${webhooks} ${w} WHERE ${w.disabledAt} IS NULL`),
)

/** Selects the same for a sweep, and whether there are deliveries that are kept no longer. */
export const selectDueDeliveries = prepare((v: Params<{ now: number }>) =>
  oneSql(
    { at: nextDeliverySql, hasOld: flag(sql`EXISTS (SELECT 1 FROM ${fromOldSql(v.now)})`) },
    sql`FROM ${webhooks} ${w} WHERE ${w.disabledAt} IS NULL`,
  ),
)

/** Claims webhooks with deliveries that are due, for one sender; those that have failed come last. */
export const claimWebhooks = prepare((v: Params<{ claim: string; now: number }>) =>
  write(
    updateSet(
      webhooks,
      { claim: v.claim, retryAt: sql`${v.now} + ${webhookLimits.claimMs}` },
      sql`WHERE ${webhooks.id} IN (SELECT ${w.id} FROM ${webhooks} ${w}
        WHERE ${w.disabledAt} IS NULL AND ${w.retryAt} <= ${v.now} AND ${firstDueSql} <= ${v.now}
        ORDER BY ${w.failures}, ${w.retryAt}, ${w.id} LIMIT ${webhookLimits.claimedMax})`,
    ),
  ),
)

const p = alias(posts, 'p')
const c = alias(comments, 'c')
const m = alias(communities, 'm')
const u = alias(accounts, 'u')
const t = alias(accounts, 't')
const x = alias(activations, 'x')
const q = alias(approvals, 'q')
const r = alias(contentReports, 'r')

const deliveryFields = {
  id: o.id,
  event: o.event,
  createdAt: o.createdAt,
  attempts: o.attempts,
  nextAt: o.nextAt,
  data: o.data,
  webhookId: w.id,
  host: w.host,
  sealed: w.sealed,
  format: w.format,
  url: w.url,
  ownerId: w.accountId,
  failures: w.failures,
  failingSince: w.failingSince,
  /** Whether its owner may read it now. Tests need no place. */
  mayReceive: flag(
    sql`(${o.event} = 'webhook.test' OR ${mayReceiveSql({
      event: o.event,
      community: o.communityId,
      place: w.communityId,
      owner: a,
      now: sql`n.now`,
    })})`,
  ),
  /** Whether what it is about was deleted, or has become private. */
  isGone: flag(sql`((${o.postId} IS NOT NULL AND ${o.event} <> 'run.finished' AND ${p.id} IS NULL)
    OR (${o.commentId} IS NOT NULL AND ${c.id} IS NULL)
    OR (${o.event} = 'run.finished' AND (${x.id} IS NULL OR ${isPrivateRunSql(x)}))
    OR (${o.event} = 'approval.requested' AND ${q.id} IS NULL) OR (${o.event} = 'report.created' AND ${r.id} IS NULL))`),
  postId: sql<PostId | null>`${p.id}`,
  title: sql<string | null>`${p.title}`,
  content: sql<
    string | null
  >`substr(coalesce(${c.content}, ${p.content}), 1, ${webhookLimits.textCharsMax})`,
  link: sql<string | null>`iif(${c.id} IS NULL, ${p.url}, NULL)`,
  commentId: sql<CommentId | null>`${c.id}`,
  parentId: sql<CommentId | null>`${c.parentId}`,
  community: optionalPlaceSql(m),
  author: optionalPersonSql(u),
  /** Who is mentioned, or the agent of the run or of the approval. */
  subject: optionalPersonSql(t),
  runId: sql<string | null>`${x.id}`,
  runPostId: sql<PostId | null>`${x.postId}`,
  task: sql<string | null>`${x.task}`,
  outcome: sql<string | null>`${x.outcome}`,
  startedAt: sql<number | null>`${x.startedAt}`,
  finishedAt: sql<number | null>`${x.finishedAt}`,
  costMicrousd: sql<number | null>`${x.costMicrousd}`,
  approvalId: sql<string | null>`${q.id}`,
  tool: sql<string | null>`${q.tool}`,
  tier: sql<string | null>`${q.tier}`,
  expiresAt: sql<number | null>`${q.expiresAt}`,
  reportId: sql<string | null>`${r.id}`,
  reason: sql<string | null>`${r.reason}`,
}

/** A delivery that a sender has claimed, with what it says. Texts that may not be shown any more are null. */
export type Delivery = RowOf<typeof deliveryFields>

/** Selects the first deliveries of each webhook that a sender has claimed, in the order in which they are due. */
export const selectClaimedDeliveries = prepare((v: Params<{ claim: string; now: number }>) =>
  manySql(
    deliveryFields,
    sql`FROM (SELECT ${v.now} AS now) n CROSS JOIN ${webhooks} ${w}
      CROSS JOIN ${outbox} ${o} ON ${o.seq} IN (
        SELECT d.seq FROM ${outbox} d INDEXED BY outbox_due WHERE d.kind = 'webhook' AND d.target_id = ${w.id}
          AND d.state = 'pending' AND d.next_at <= ${v.now} ORDER BY d.next_at, d.seq LIMIT ${webhookLimits.sentPerClaimMax})
      CROSS JOIN ${accounts} ${a} ON ${a.id} = ${w.accountId}
      LEFT JOIN ${posts} ${p} ${unfiltered('accounts of rows')} ON ${p.id} = ${o.postId} AND ${isPostShownSql(p)}
      LEFT JOIN ${comments} ${c} ON ${c.id} = ${o.commentId} AND ${isCommentShownSql(c)}
      LEFT JOIN ${communities} ${m} ON ${m.id} = ${o.communityId}
      LEFT JOIN ${activations} ${x} ON ${o.event} = 'run.finished' AND ${x.id} = ${o.subjectId}
      LEFT JOIN ${approvals} ${q} ON ${o.event} = 'approval.requested' AND ${q.id} = ${o.subjectId}
      LEFT JOIN ${contentReports} ${r} ON ${o.event} = 'report.created' AND ${r.id} = ${o.subjectId}
      LEFT JOIN ${accounts} ${u} ON ${u.id} = coalesce(${c.authorId}, ${p.authorId})
      LEFT JOIN ${accounts} ${t} ON ${t.id} = coalesce(${x.agentId}, ${q.accountId}, iif(${o.event} = 'mention.created', ${o.subjectId}, NULL))
      WHERE ${w.claim} = ${v.claim} AND ${w.disabledAt} IS NULL ORDER BY ${w.id}, ${o.nextAt}, ${o.seq}`,
  ),
)

interface Recorded {
  id: string
  state: 'pending' | 'sent' | 'failed' | 'withheld'
  now: number
  nextAt: number
  answer: string
}

/** Stores how an attempt ended, unless another sender has stored that the delivery is over. */
export const recordAttempt = prepare((v: Params<Recorded>) =>
  write(
    updateSet(
      outbox,
      {
        state: v.state,
        attempts: sql`${outbox.attempts} + 1`,
        triedAt: v.now,
        nextAt: v.nextAt,
        answer: v.answer,
      },
      sql`WHERE ${outbox.id} = ${v.id} AND ${outbox.state} = 'pending'`,
    ),
  ),
)

/** Ends the claim of a sender on a webhook; null fields stay as they are. */
export const releaseWebhook = prepare(
  (
    v: Params<{
      id: string
      claim: string
      retryAt: number
      failures: number
      failingSince: number | null
    }>,
  ) =>
    write(
      updateSet(
        webhooks,
        {
          claim: null,
          retryAt: v.retryAt,
          failures: v.failures,
          failingSince: v.failingSince,
        },
        sql`WHERE ${webhooks.id} = ${v.id} AND ${webhooks.claim} = ${v.claim}`,
      ),
    ),
)

/** Ends the claims of a sender that it did not end one by one. */
export const releaseRest = prepare((v: Params<{ claim: string; now: number }>) =>
  write(
    updateSet(webhooks, { claim: null, retryAt: v.now }, sql`WHERE ${webhooks.claim} = ${v.claim}`),
  ),
)

const i = alias(inboxItems, 'i')

/** Disables a webhook that a sender has claimed, and notifies its owner. */
export function disableWebhook(given: {
  id: string
  itemId: InboxItemId
  reason: string
  notice: string
  now: number
}): Statement<void>[] {
  const { id, itemId, reason, notice, now } = given
  return [
    write(
      insertSelect(
        inboxItems,
        {
          id: itemId,
          accountId: w.accountId,
          type: 'system',
          content: notice,
          createdAt: now,
        },
        sql`FROM ${webhooks} ${w} WHERE ${w.id} = ${id} AND ${w.disabledAt} IS NULL
          AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.id} = ${itemId})`,
      ),
    ),
    write(
      updateSet(
        webhooks,
        { disabledAt: now, reason },
        sql`WHERE ${webhooks.id} = ${id} AND ${webhooks.disabledAt} IS NULL`,
      ),
    ),
  ]
}

/** Deletes deliveries that are kept no longer, some at a time. */
export const deleteOldDeliveries = prepare((v: Params<{ now: number }>) =>
  write(
    sql`DELETE FROM ${outbox} WHERE ${outbox.id} IN (SELECT ${o.id} FROM ${fromOldSql(v.now)} ORDER BY ${o.createdAt} LIMIT ${webhookLimits.deletedPerSweep})`,
  ),
)
