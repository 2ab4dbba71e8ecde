import type * as z from 'zod'
import { moderationLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { ActionContext } from '../action-context'
import { insertAdminEntry } from '../admin-log/queries'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import type { decisionInput } from '../moderation/appeal-action'
import { moderationConstraints, moderationErrors } from '../moderation/errors'
import { appealOutcomeLabels } from '../moderation/moderation-labels'
import { insertNotice, liftBan } from '../moderation/write-queries'
import { assertNoCredentials } from '../posts/credential-patterns'
import {
  decideBanAppealStatement,
  guardBanDecision,
  type HubBanRow,
  insertBanAppeal,
  selectHubBan,
} from './queries'

export const banAppealInput = knownFields({
  text: shownText.max(moderationLimits.appealCharsMax),
})

/**
 * Appeals a ban or a mute of the whole hub that holds for the actor, once.
 *
 * @throws NOT_FOUND also for somebody else's, CONFLICT for a second appeal
 */
export async function appealBan(
  { db, clock, settings }: ActionContext,
  actor: Actor,
  id: string,
  { text }: z.output<typeof banAppealInput>,
): Promise<IdempotentResult<HubBanRow>> {
  assertNoCredentials({ text }, settings)
  const { accountId, idempotencyKey: key } = actor
  const now = clock.now()
  const ban = await run(db, selectHubBan(id, now))
  if (!ban || ban.accountId !== accountId) throw moderationErrors.unknownBan()
  const once = { accountId, key, action: 'bans.appeal', input: { id, text } }
  return runOnce(db, once, {
    now,
    answer: { ...ban, appeal: text, appealedAt: now },
    statements: { appeal: insertBanAppeal({ banId: id, text, createdAt: now }) },
    constraints: moderationConstraints,
  })
}

/**
 * Decides an appeal of a ban or a mute of the whole hub: it stays or is lifted. The account is notified.
 *
 * @throws NOT_FOUND also for one that does not hold any more, FORBIDDEN for the admin who made it while there
 *   is another, CONFLICT for an appeal that is decided
 */
export async function decideBanAppeal(
  { db, clock, settings }: ActionContext,
  admin: Actor,
  id: string,
  { decision, reason }: z.output<typeof decisionInput>,
): Promise<IdempotentResult<HubBanRow>> {
  assertNoCredentials({ reason }, settings)
  const { accountId, idempotencyKey: key } = admin
  const now = clock.now()
  const ban = await run(db, selectHubBan(id, now))
  if (!ban || ban.appealedAt === null) throw moderationErrors.unknownAppeal()
  const outcome = decision === 'reverse' ? 'reversed' : 'upheld'
  const once = { accountId, key, action: 'bans.decide', input: { id, decision, reason } }
  const hasAdminKey = settings.ROOKERY_ADMIN_KEY !== undefined
  return runOnce(db, once, {
    now,
    answer: { ...ban, outcome, outcomeReason: reason },
    statements: {
      guard: guardBanDecision({ accountId, banId: id, hasAdminKey, now }),
      decision: decideBanAppealStatement({ banId: id, outcome, reason, decidedBy: accountId, now }),
      notice: insertNotice({
        id: clock.newId(),
        postId: null,
        commentId: null,
        now,
        to: ban.accountId,
        from: accountId,
        text: `${appealOutcomeLabels[outcome]} on this hub. Reason: ${reason}`,
      }),
      entry: insertAdminEntry({
        id: clock.newId(),
        accountId,
        action: `account.appeal.${outcome}`,
        targetType: 'account',
        targetId: ban.accountId,
        reason,
        after: { id },
        createdAt: now,
      }),
      lift: outcome === 'reversed' ? liftBan(id, now) : null,
    },
    constraints: moderationConstraints,
  })
}
