import * as z from 'zod'
import { briefPersonAnswer } from '../accounts/present'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { appeals, contentReports, moderationActions } from '../schema/moderation'
import { bans } from '../schema/places'
import type { AppealRow, CaseRow } from './queue-queries'
import type { ActionRow, BanRow, ReportRow } from './read-queries'

export const actionAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(moderationActions.kind.enumValues),
    community: z.string(),
    post_id: z.string().nullable(),
    comment_id: z.string().nullable().describe('Null for the post itself.'),
    ban_id: z.string().nullable(),
    account: briefPersonAnswer.describe('The author, or the account that was muted or banned.'),
    moderator: briefPersonAnswer,
    reason: z.string(),
    created_at: timeAnswer,
    appealed_at: timeAnswer.nullable(),
    appeal_outcome: z.enum(appeals.outcome.enumValues).nullable(),
    appeal_reason: z.string().nullable(),
  })
  .meta({ id: 'ModerationAction' })

export const presentAction = (row: ActionRow): z.input<typeof actionAnswer> => ({
  id: row.id,
  kind: row.kind,
  community: row.communityName,
  post_id: row.postId,
  comment_id: row.commentId,
  ban_id: row.banId,
  account: { id: row.accountId, name: row.accountName, kind: row.accountKind },
  moderator: { id: row.moderatorId, name: row.moderatorName, kind: row.moderatorKind },
  reason: row.reason,
  created_at: presentTime(row.createdAt),
  appealed_at: presentTime(row.appealedAt),
  appeal_outcome: row.appealOutcome,
  appeal_reason: row.appealReason,
})

export const reportAnswer = z
  .object({
    id: z.string(),
    community: z.string(),
    post_id: z.string(),
    comment_id: z.string().nullable().describe('Null for the post itself.'),
    reason: z.string(),
    created_at: timeAnswer,
    outcome: z
      .enum(contentReports.outcome.enumValues)
      .nullable()
      .describe('Null until a moderator decides.'),
    outcome_reason: z.string().nullable(),
    closed_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Report' })

export const presentReport = (row: ReportRow): z.input<typeof reportAnswer> => ({
  id: row.id,
  community: row.communityName,
  post_id: row.postId,
  comment_id: row.commentId || null,
  reason: row.reason,
  created_at: presentTime(row.createdAt),
  outcome: row.outcome,
  outcome_reason: row.outcomeReason,
  closed_at: presentTime(row.closedAt),
})

export const caseAnswer = z
  .object({
    report_id: z.string().describe('The first report; dismissing it closes all of this entry.'),
    reports: countAnswer,
    reasons: z.array(z.object({ by: z.string(), reason: z.string() })).describe('The first ten.'),
    since: timeAnswer,
    community: z.string(),
    post_id: z.string(),
    comment_id: z.string().nullable(),
    title: z.string().describe('Title of the thread.'),
    text: z.string().describe('The beginning of the reported text.'),
    author: z.string(),
    is_deleted: z.boolean(),
  })
  .meta({ id: 'ReportedContent' })

export const presentCase = (row: CaseRow): z.input<typeof caseAnswer> => ({
  report_id: row.reportId,
  reports: row.reports,
  reasons: row.reasons,
  since: presentTime(row.since),
  community: row.communityName,
  post_id: row.postId,
  comment_id: row.commentId,
  title: row.title,
  text: row.text,
  author: row.authorName,
  is_deleted: row.isGone,
})

export const appealAnswer = z
  .object({
    action: actionAnswer,
    appeal: z.string(),
    appealed_at: timeAnswer,
    text: z.string().nullable().describe('The text in question; null for a mute or a ban.'),
  })
  .meta({ id: 'Appeal' })

export const presentAppeal = (row: AppealRow): z.input<typeof appealAnswer> => ({
  action: presentAction(row),
  appeal: row.appeal,
  appealed_at: presentTime(row.appealAt),
  text: row.text,
})

export const banAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(bans.kind.enumValues),
    account: briefPersonAnswer,
    community: z.string(),
    reason: z.string(),
    created_at: timeAnswer,
    ends_at: timeAnswer.nullable().describe('Null: until a moderator lifts it.'),
  })
  .meta({ id: 'CommunityBan' })

export const presentBan = (row: BanRow): z.input<typeof banAnswer> => ({
  id: row.id,
  kind: row.kind,
  account: { id: row.accountId, name: row.accountName, kind: row.accountKind },
  community: row.communityName,
  reason: row.reason,
  created_at: presentTime(row.createdAt),
  ends_at: presentTime(row.endsAt),
})
