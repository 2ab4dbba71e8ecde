import { batch, run } from '../../shared/db/batch'
import type { CommentId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { insertAdminEntry } from '../admin-log/queries'
import { toConstraintError } from '../constraint-errors'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { assertNoCredentials } from '../posts/credential-patterns'
import { actorReader } from '../viewers/reader'
import { moderationConstraints, moderationErrors } from './errors'
import { guardDismissal, guardReports } from './guard-queries'
import type { ContentRef, ReasonInput } from './moderate-content'
import { reportOutcomeLabels } from './moderation-labels'
import { type ReportRow, selectReport, selectTarget } from './read-queries'
import { closeReports, insertReport } from './write-queries'

const hourMs = 3_600_000

/**
 * Reports a post or a comment to the moderators of its community.
 *
 * @throws NOT_FOUND, VALIDATION for the actor's own, CONFLICT for a second open report of the same,
 *   RATE_LIMITED
 */
export async function reportContent(
  { db, clock, settings }: ActionContext,
  actor: Actor,
  on: ContentRef,
  { reason }: ReasonInput,
): Promise<IdempotentResult<ReportRow>> {
  assertNoCredentials({ reason }, settings)
  const target = await run(db, selectTarget(on.kind, on.id, actorReader(actor)))
  if (!target || target.isDeleted || target.removalId !== null) {
    throw moderationErrors.unknownTarget(on.kind)
  }
  const { accountId, idempotencyKey: key } = actor
  if (target.authorId === accountId) throw moderationErrors.ownReport(on.kind)
  const now = clock.now()
  const answer: ReportRow = {
    id: clock.newId(),
    communityName: target.communityName,
    postId: target.postId,
    commentId: target.commentId ?? '',
    reason,
    createdAt: now,
    outcome: null,
    outcomeReason: null,
    closedAt: null,
  }
  const { id, postId, commentId, createdAt } = answer
  const once = { accountId, key, action: 'reports.create', input: { ...on, reason } }
  return runOnce(db, once, {
    now,
    answer,
    statements: {
      guard: guardReports({ accountId, since: now - hourMs }),
      report: insertReport({
        id,
        postId,
        commentId,
        createdAt,
        reason,
        accountId,
        communityId: target.communityId,
      }),
    },
    constraints: moderationConstraints,
  })
}

/**
 * Closes all open reports of what this report is about, without an action. Whoever reported is notified.
 *
 * @throws NOT_FOUND, FORBIDDEN, CONFLICT for a report that is decided
 */
export async function dismissReports(
  { db, clock }: ActionContext,
  actor: Actor,
  id: string,
  { reason }: ReasonInput,
): Promise<ReportRow> {
  const report = await run(db, selectReport(id, actorReader(actor)))
  if (!report) throw moderationErrors.unknownReport()
  const { communityId, communityName, postId } = report
  const { accountId, activationId } = actor
  const commentId = report.commentId === '' ? null : (report.commentId as CommentId)
  const now = clock.now()
  try {
    await batch(db, {
      guard: guardDismissal({ accountId, activationId, communityId, reportId: id }),
      reports: closeReports({
        id: clock.newId(),
        postId,
        commentId,
        outcome: 'dismissed',
        reason,
        now,
        closedBy: accountId,
        text: `Your report in m/${communityName} was decided. ${reportOutcomeLabels.dismissed}. Reason: ${reason}`,
      }),
      entry: insertAdminEntry({
        id: clock.newId(),
        accountId,
        action: 'moderation.dismiss',
        targetType: commentId === null ? 'post' : 'comment',
        targetId: commentId ?? postId,
        reason,
        after: { community: communityName },
        createdAt: now,
      }),
    })
  } catch (error) {
    throw toConstraintError(error, moderationConstraints) ?? error
  }
  return { ...report, outcome: 'dismissed', outcomeReason: reason, closedAt: now }
}
