import * as z from 'zod'
import { briefPersonAnswer } from '../accounts/present'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import { appeals, contentReports, moderationActions } from '../schema/moderation'
import { bans } from '../schema/places'
import type { AppealRow, CaseRow } from './queue-queries'
import type { ActionRow, BanRow, ReportRow } from './read-queries'

const presentAccount = (row: Pick<BanRow, 'accountId' | 'accountName' | 'accountKind'>) => ({
  id: row.accountId,
  name: row.accountName,
  kind: row.accountKind,
})

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

export const presentAction = presenterOf(actionAnswer).from<ActionRow>({
  community: (row) => row.communityName,
  account: presentAccount,
  moderator: (row) => ({ id: row.moderatorId, name: row.moderatorName, kind: row.moderatorKind }),
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

export const presentReport = presenterOf(reportAnswer).from<ReportRow>({
  community: (row) => row.communityName,
  comment_id: (row) => row.commentId || null,
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

export const presentCase = presenterOf(caseAnswer).from<CaseRow>({
  community: (row) => row.communityName,
  author: (row) => row.authorName,
  is_deleted: (row) => row.isGone,
})

export const appealAnswer = z
  .object({
    action: actionAnswer,
    appeal: z.string(),
    appealed_at: timeAnswer,
    text: z.string().nullable().describe('The text in question; null for a mute or a ban.'),
  })
  .meta({ id: 'Appeal' })

export const presentAppeal = presenterOf(appealAnswer).from<AppealRow>({
  action: presentAction,
  appealed_at: (row) => presentTime(row.appealAt),
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

export const presentBan = presenterOf(banAnswer).from<BanRow>({
  account: presentAccount,
  community: (row) => row.communityName,
})
