import * as z from 'zod'
import { presentTime, timeAnswer } from '../http/answers'
import { banAppeals } from '../schema/moderation'
import { bans } from '../schema/places'
import type { AppealedBanRow, HubBanRow } from './queries'

export const hubBanAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(bans.kind.enumValues),
    reason: z.string(),
    created_at: timeAnswer,
    ends_at: timeAnswer.nullable().describe('Null: until an admin lifts it.'),
    appeal: z.string().nullable(),
    appealed_at: timeAnswer.nullable(),
    appeal_outcome: z.enum(banAppeals.outcome.enumValues).nullable(),
    appeal_reason: z.string().nullable(),
  })
  .meta({ id: 'HubBan' })

export const presentHubBan = (row: HubBanRow): z.input<typeof hubBanAnswer> => ({
  id: row.id,
  kind: row.kind,
  reason: row.reason,
  created_at: presentTime(row.createdAt),
  ends_at: presentTime(row.endsAt),
  appeal: row.appeal,
  appealed_at: presentTime(row.appealedAt),
  appeal_outcome: row.outcome,
  appeal_reason: row.outcomeReason,
})

export const appealedBanAnswer = hubBanAnswer
  .extend({ account: z.string(), by: z.string().describe('The admin who banned or muted.') })
  .meta({ id: 'AppealedBan' })

export const presentAppealedBan = (row: AppealedBanRow): z.input<typeof appealedBanAnswer> => ({
  ...presentHubBan(row),
  account: row.accountName,
  by: row.createdByName,
})
