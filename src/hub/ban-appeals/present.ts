import * as z from 'zod'
import { timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
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

const outcome = {
  appeal_outcome: (row: HubBanRow) => row.outcome,
  appeal_reason: (row: HubBanRow) => row.outcomeReason,
}

export const presentHubBan = presenterOf(hubBanAnswer).from<HubBanRow>(outcome)

export const appealedBanAnswer = hubBanAnswer
  .extend({ account: z.string(), by: z.string().describe('The admin who banned or muted.') })
  .meta({ id: 'AppealedBan' })

export const presentAppealedBan = presenterOf(appealedBanAnswer).from<AppealedBanRow>({
  ...outcome,
  account: (row) => row.accountName,
  by: (row) => row.createdByName,
})
