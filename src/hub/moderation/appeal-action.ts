import * as z from 'zod'
import { moderationLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { ActionContext } from '../action-context'
import { insertAdminEntry } from '../admin-log/queries'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { assertNoCredentials } from '../posts/credential-patterns'
import type { ModerationAction } from '../schema/moderation'
import { actorReader } from '../viewers/reader'
import { recordStatements, toActionRow } from './create-records'
import { moderationConstraints, moderationErrors } from './errors'
import { guardDecision } from './guard-queries'
import { publishChange, reasonInput } from './moderate-content'
import { appealOutcomeLabels, isAppealable } from './moderation-labels'
import { type ActionRow, selectAppealed, selectOwnAction } from './read-queries'
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
  const action = await run(db, selectOwnAction(id, accountId))
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
  const action = await run(db, selectAppealed(id, actorReader(actor)))
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
        text: `${appealOutcomeLabels[outcome]} in m/${action.communityName}. Reason: ${reason}`,
        now,
      }),
      entry: insertAdminEntry({
        id: clock.newId(),
        accountId,
        action: `moderation.appeal.${outcome}`,
        targetType: 'moderation_action',
        targetId: id,
        reason,
        after: { community: action.communityName },
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
    community: { id: action.communityId, name: action.communityName },
    account: { id: action.accountId, name: action.accountName, kind: action.accountKind },
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
