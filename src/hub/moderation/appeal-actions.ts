import * as z from 'zod'
import { moderationLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { insertAdminEntry } from '../database/admin-log-queries'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { assertNoCredentials } from '../rules/credential-patterns'
import type { ModerationAction } from '../schema/moderation'
import { actorReader } from '../viewers/reader'
import {
  appealOutcomeLabels,
  isAppealable,
  moderationConstraints,
  moderationErrors,
  publishChange,
  reasonInput,
  recordStatements,
  toActionRow,
} from './actions'
import {
  type ActionRow,
  decideBanAppealStatement,
  guardBanDecision,
  guardDecision,
  type HubBanRow,
  insertBanAppeal,
  selectAppealed,
  selectHubBan,
  selectOwnAction,
} from './queries'
import {
  decideAppealStatement,
  insertAppeal,
  insertNotice,
  liftBan,
  lockPost,
  restoreContent,
} from './write-queries'

export const appealInput = knownFields({
  action_id: z.string().max(100).describe('The action, as GET /appeals lists it.'),
  text: shownText.max(moderationLimits.appealCharsMax),
})

export const decisionInput = reasonInput.extend({
  decision: z.enum(['uphold', 'reverse']).describe('Whether the action stays or is reversed.'),
})

/**
 * Appeals an action about the actor, once.
 *
 * @throws NOT_FOUND also for an action about somebody else, CONFLICT for a second appeal
 */
export async function appealAction(
  { db, clock, settings }: ActionContext,
  actor: Actor,
  { action_id: id, text }: z.output<typeof appealInput>,
): Promise<IdempotentResult<ActionRow>> {
  assertNoCredentials({ text }, settings)
  const { accountId, idempotencyKey: key } = actor
  const action = await run(db, selectOwnAction({ id, accountId }))
  if (!action) throw moderationErrors.unknownAction()
  if (!isAppealable(action.kind)) throw moderationErrors.notAppealable()
  const now = clock.now()
  const once = { accountId, key, action: 'appeals.create', input: { id, text } }
  return runOnce(db, once, {
    now,
    answer: { ...action, appealedAt: now },
    statements: {
      appeal: insertAppeal({
        actionId: id,
        communityId: action.communityId,
        text,
        createdAt: now,
      }),
    },
    constraints: moderationConstraints,
  })
}

const reversals = { remove: 'restore', lock: 'unlock', mute: 'lift', ban: 'lift' } as const

const findReversal = (kind: ModerationAction['kind']): ModerationAction['kind'] | null =>
  kind in reversals ? reversals[kind as keyof typeof reversals] : null

/**
 * Decides an appeal. A reversal undoes the action and is an action of its own; what was undone before
 * stays as it is. The account that appealed is notified.
 *
 * @throws NOT_FOUND, FORBIDDEN also for the moderator who acted while there is another, CONFLICT for an
 *   appeal that is decided
 */
export async function decideAppeal(
  context: ActionContext,
  actor: Actor,
  id: string,
  { decision, reason }: z.output<typeof decisionInput>,
): Promise<IdempotentResult<ActionRow>> {
  const { db, clock, settings } = context
  assertNoCredentials({ reason }, settings)
  const action = await run(db, selectAppealed({ id, reader: actorReader(actor) }))
  if (!action) throw moderationErrors.unknownAppeal()
  const { accountId, activationId, idempotencyKey: key } = actor
  const { communityId } = action
  const now = clock.now()
  const outcome: 'reversed' | 'upheld' = decision === 'reverse' ? 'reversed' : 'upheld'
  const once = { accountId, key, action: 'appeals.decide', input: { id, decision, reason } }
  const done = await runOnce(db, once, {
    now,
    answer: { ...action, appealOutcome: outcome, appealReason: reason },
    statements: {
      guard: guardDecision({ accountId, activationId, communityId, actionId: id }),
      decision: decideAppealStatement({ actionId: id, outcome, reason, decidedBy: accountId, now }),
      notice: insertNotice({
        id: clock.newId(),
        postId: action.postId,
        commentId: action.commentId,
        to: action.accountId,
        from: accountId,
        text: `${appealOutcomeLabels[outcome]} in m/${action.community.name}. Reason: ${reason}`,
        now,
      }),
      entry: insertAdminEntry({
        id: clock.newId(),
        accountId,
        action: `moderation.appeal.${outcome}`,
        targetType: 'moderation_action',
        targetId: id,
        reason,
        after: { community: action.community.name },
        createdAt: now,
      }),
      reversal: outcome === 'reversed' ? createReversal(context, actor, action, reason) : null,
    },
    constraints: moderationConstraints,
  })
  const hasChanged = outcome === 'reversed' && !done.isDuplicate
  if (hasChanged && action.postId !== null) publishChange(context, action.postId)
  return done
}

function createReversal(
  context: ActionContext,
  actor: Actor,
  action: ActionRow,
  reason: string,
): Statement<void>[] {
  const kind = findReversal(action.kind)
  if (kind === null) return []
  const row = toActionRow(context, actor, {
    kind,
    postId: action.postId,
    commentId: action.commentId,
    banId: action.banId,
    reason,
    community: action.community,
    account: action.account,
  })
  const { action: record, entry } = recordStatements(context, row)
  return [record, entry, ...createEffect(action, row.createdAt)]
}

function createEffect(action: ActionRow, now: number): Statement<void>[] {
  const { kind, postId, commentId, banId, id } = action
  if (kind === 'remove' && postId) return restoreContent({ postId, commentId, removalId: id })
  if (kind === 'lock' && postId) return [lockPost(postId, false)]
  return banId === null ? [] : [liftBan(banId, now)]
}

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
  const ban = await run(db, selectHubBan({ id, now }))
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
  const ban = await run(db, selectHubBan({ id, now }))
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
