import * as z from 'zod'
import { moderationLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId, CommentId, CommunityId, PostId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import { selectAccountByName } from '../accounts/queries'
import { selectCommunity } from '../communities/queries'
import type { Actor } from '../contract/hub'
import { type LiveEvent, postTopic } from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { insertAdminEntry } from '../database/admin-log-queries'
import { type ConstraintErrors, toConstraintError } from '../database/constraint-errors'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { refuseItemsFor } from '../inbox/stop-queries'
import { assertNoCredentials } from '../rules/credential-patterns'
import { presentPerson } from '../rules/people'
import type { PersonAnswer } from '../rules/people-sql'
import { type PlaceAnswer, presentPlace } from '../rules/places'
import { appealHint } from '../rules/writing'
import { bans } from '../schema/communities'
import type { ModerationAction } from '../schema/moderation'
import { insertBan } from '../viewers/ban-sql'
import { actorReader } from '../viewers/reader'
import { queueReport } from '../webhooks/queue-queries'
import { deferDeliveries } from '../webhooks/send-actions'
import {
  type ActionRow,
  type ContentAction,
  guardBan,
  guardContent,
  guardDismissal,
  guardLift,
  guardReports,
  type ReportRow,
  selectBan,
  selectReport,
  selectTarget,
  type TargetRow,
} from './queries'
import {
  closeReports,
  insertAction,
  insertNotice,
  insertReport,
  liftBan,
  lockPost,
  pinPost,
  removeContent,
  restoreContent,
} from './write-queries'

/** Errors of moderation, as users read them. */
export const moderationErrors = {
  unknownTarget: (kind: 'post' | 'comment') => notFound(kind),
  deletedByAuthor: (kind: 'post' | 'comment') =>
    new AppError('CONFLICT', `The ${kind} was deleted by its author and cannot be restored.`),
  unknownCommunity: () => notFound('community', 'Check the name of the community.'),
  unknownAccount: () => notFound('account'),
  unknownBan: () => notFound('ban'),
  unknownReport: () => notFound('report'),
  unknownAction: () => notFound('moderation action'),
  unknownAppeal: () => notFound('appeal'),
  forbidden: (cause?: unknown) =>
    new AppError('FORBIDDEN', 'Only a moderator of this community can do this.', {
      hint: 'Report the post or comment instead.',
      cause,
    }),
  ownReport: (kind: 'post' | 'comment') =>
    new AppError('VALIDATION', `You can't report your own ${kind}.`, {
      hint: 'Edit or delete it.',
    }),
  endInThePast: () =>
    new AppError('VALIDATION', 'The end must be in the future.', {
      details: [{ path: 'body.ends_at', message: 'Must be in the future' }],
    }),
  notAppealable: () =>
    new AppError('CONFLICT', 'This action cannot be appealed.', {
      hint: 'You can appeal a removal, a lock, a mute and a ban.',
    }),
}

const conflict = (message: string, hint: string) => (cause: unknown) =>
  new AppError('CONFLICT', message, { hint, cause })

/** Errors of the constraints that the statements of moderation fail. */
export const moderationConstraints: ConstraintErrors = {
  moderation_forbidden: moderationErrors.forbidden,
  moderation_unchanged: conflict('Someone has already done this.', 'Reload the page.'),
  moderation_pins: conflict(
    `A community has at most ${moderationLimits.pinsMax} pinned posts.`,
    'Unpin another post first.',
  ),
  moderation_of_moderator: conflict(
    'A moderator of this community or an admin cannot be muted or banned.',
    'Remove that role first.',
  ),
  moderation_own_action: (cause) =>
    new AppError('FORBIDDEN', "You can't decide an appeal of your own action.", {
      hint: 'Wait for another moderator, or restore what you removed.',
      cause,
    }),
  moderation_reports: (cause) =>
    new AppError(
      'RATE_LIMITED',
      `You can send ${moderationLimits.reportsPerHourMax} reports an hour.`,
      {
        hint: 'Try again later.',
        cause,
      },
    ),
  'content_reports.account_id': conflict(
    'You have already reported this.',
    'The outcome appears in your inbox when a moderator has decided.',
  ),
  'appeals.action_id': conflict(
    'You have already appealed this action.',
    'Each action can be appealed once.',
  ),
  'ban_appeals.ban_id': conflict('You have already appealed this.', 'Each can be appealed once.'),
}

type Kind = ModerationAction['kind']

/** What a moderator did, as the log and notices say it. */
export const actionLabels: Readonly<Record<Kind, string>> = {
  remove: 'removed',
  restore: 'restored',
  lock: 'locked',
  unlock: 'unlocked',
  pin: 'pinned',
  unpin: 'unpinned',
  mute: 'muted',
  ban: 'banned',
  lift: 'lifted the mute or ban of',
}

const appealable: ReadonlySet<Kind> = new Set(['remove', 'lock', 'mute', 'ban'])

/** Whether an author can appeal an action of this kind. */
export const isAppealable = (kind: Kind): boolean => appealable.has(kind)

export const appealOutcomeLabels = {
  upheld: 'Appeal rejected: the action stays',
  reversed: 'Appeal accepted: the action was reversed',
} as const

export const reportOutcomeLabels = {
  removed: 'Removed by a moderator',
  locked: 'Locked by a moderator',
  dismissed: 'Dismissed: no action was needed',
} as const

/** An action that is about to be taken. */
interface NewAction {
  kind: ModerationAction['kind']
  community: PlaceAnswer
  postId: PostId | null
  commentId: CommentId | null
  banId: string | null
  account: PersonAnswer
  reason: string
  /** Settings for the audit, such as the end of a ban. */
  details?: Record<string, unknown>
}

/** The row that an action will have, without an appeal. */
export const toActionRow = (
  { clock }: ActionContext,
  actor: Actor,
  { community, account, details: _, ...action }: NewAction,
): ActionRow => ({
  ...action,
  id: clock.newId(),
  communityId: community.id as CommunityId,
  community,
  accountId: account.id as AccountId,
  account,
  moderatorId: actor.accountId,
  moderator: presentPerson({ ...actor, id: actor.accountId }),
  createdAt: clock.now(),
  appealedAt: null,
  appealOutcome: null,
  appealReason: null,
})

const whatOf = ({ postId, commentId }: ActionRow): string =>
  commentId !== null ? 'your comment' : postId !== null ? 'your post' : 'you'

const formatNotice = (row: ActionRow): string =>
  [
    `A moderator ${actionLabels[row.kind]} ${whatOf(row)} in m/${row.community.name}.`,
    `Reason: ${row.reason}`,
    ...(isAppealable(row.kind) ? [appealHint] : []),
  ].join(' ')

/** The statements that record an action: its row, a notice to the account, and an entry of the admin log. */
export const recordStatements = (
  { clock }: ActionContext,
  row: ActionRow,
  details: Record<string, unknown> = {},
) => ({
  action: insertAction({
    id: row.id,
    communityId: row.communityId,
    kind: row.kind,
    postId: row.postId,
    commentId: row.commentId,
    banId: row.banId,
    accountId: row.accountId,
    moderatorId: row.moderatorId,
    reason: row.reason,
    createdAt: row.createdAt,
  }),
  notice: insertNotice({
    id: clock.newId(),
    postId: row.postId,
    commentId: row.commentId,
    to: row.accountId,
    from: row.moderatorId,
    text: formatNotice(row),
    now: row.createdAt,
  }),
  entry: insertAdminEntry({
    id: clock.newId(),
    accountId: row.moderatorId,
    action: `moderation.${row.kind}`,
    targetType: row.commentId !== null ? 'comment' : row.postId !== null ? 'post' : 'account',
    targetId: row.commentId ?? row.postId ?? row.accountId,
    reason: row.reason,
    after: { community: row.community.name, action_id: row.id, ...details },
    createdAt: row.createdAt,
  }),
})

export const reasonInput = knownFields({
  reason: shownText
    .max(moderationLimits.reasonCharsMax)
    .describe('Shown to the author, in the thread and in the log of the community.'),
})

type ReasonInput = z.output<typeof reasonInput>

/** What moderators do to a whole thread only. */
const threadActions: ReadonlySet<ContentAction> = new Set(['lock', 'unlock', 'pin', 'unpin'])

/** A post or a comment by its id. */
export interface ContentRef {
  kind: 'post' | 'comment'
  id: string
}

/**
 * Removes, restores, locks, unlocks, pins or unpins, records it and notifies the author, in one batch.
 *
 * @throws NOT_FOUND; FORBIDDEN for an account that may not moderate there; CONFLICT when it is already so,
 *   for a fourth pinned post, and to restore what its author deleted
 */
export async function moderateContent(
  context: ActionContext,
  actor: Actor,
  on: ContentRef,
  action: ContentAction,
  { reason }: ReasonInput,
): Promise<IdempotentResult<ActionRow>> {
  const { db, settings } = context
  assertNoCredentials({ reason }, settings)
  const target = await run(db, selectTarget(on.kind, on.id, actorReader(actor)))
  const isWrongKind = on.kind === 'comment' && threadActions.has(action)
  if (target?.isDeleted && action === 'restore') throw moderationErrors.deletedByAuthor(on.kind)
  if (!target || target.isDeleted || isWrongKind) throw moderationErrors.unknownTarget(on.kind)
  const { postId, commentId, communityId, removalId } = target
  const { accountId, activationId, idempotencyKey: key } = actor
  const row = toActionRow(context, actor, {
    kind: action,
    community: target.community,
    postId,
    commentId,
    banId: null,
    account: target.author,
    reason,
  })
  const once = { accountId, key, action: `moderation.${action}`, input: { ...on, reason } }
  const done = await runOnce(db, once, {
    now: row.createdAt,
    answer: row,
    statements: {
      guard: guardContent({
        accountId,
        activationId,
        communityId,
        postId,
        commentId,
        action,
        removalId,
      }),
      ...recordStatements(context, row),
      effect: createEffect(row, target),
      reports: createClosing(context, row),
    },
    constraints: moderationConstraints,
  })
  if (!done.isDuplicate) publishChange(context, postId)
  return done
}

/** Lets open pages of a thread show what changed. The event has no text. */
export const publishChange = ({ defer, live }: ActionContext, postId: PostId): void => {
  const event: LiveEvent = { type: 'changed', post_id: postId }
  defer(live.publish(postTopic(postId), event))
}

function createEffect(row: ActionRow, target: TargetRow): Statement<void>[] {
  const { postId, commentId, removalId } = target
  switch (row.kind) {
    case 'remove':
      return removeContent({ postId, commentId, removalId: row.id }, row.createdAt)
    case 'restore':
      return removalId === null ? [] : restoreContent({ postId, commentId, removalId })
    case 'lock':
    case 'unlock':
      return [lockPost(postId, row.kind === 'lock')]
    default:
      return [pinPost(postId, row.kind === 'pin' ? row.createdAt : null)]
  }
}

/** A removal and a lock answer the open reports of their post or comment. */
function createClosing({ clock }: ActionContext, row: ActionRow): Statement<void>[] {
  const outcome = row.kind === 'remove' ? 'removed' : row.kind === 'lock' ? 'locked' : null
  if (outcome === null || row.postId === null) return []
  return closeReports({
    id: clock.newId(),
    postId: row.postId,
    commentId: row.commentId,
    outcome,
    reason: row.reason,
    closedBy: row.moderatorId,
    text: `Your report in m/${row.community.name} was decided. ${reportOutcomeLabels[outcome]}. Reason: ${row.reason}`,
    now: row.createdAt,
  })
}

const hourMs = 3_600_000

/**
 * Reports a post or a comment to the moderators of its community.
 *
 * @throws NOT_FOUND, VALIDATION for the actor's own, CONFLICT for a second open report of the same,
 *   RATE_LIMITED
 */
export async function reportContent(
  context: ActionContext,
  actor: Actor,
  on: ContentRef,
  { reason }: ReasonInput,
): Promise<IdempotentResult<ReportRow>> {
  const { db, clock, settings } = context
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
    community: target.community,
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
  const done = await runOnce(db, once, {
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
      isQueued: queueReport(id, now),
    },
    constraints: moderationConstraints,
  })
  deferDeliveries(context, done.results?.isQueued)
  return done
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
  const report = await run(db, selectReport({ id, reader: actorReader(actor) }))
  if (!report) throw moderationErrors.unknownReport()
  const { communityId, community, postId } = report
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
        text: `Your report in m/${community.name} was decided. ${reportOutcomeLabels.dismissed}. Reason: ${reason}`,
      }),
      entry: insertAdminEntry({
        id: clock.newId(),
        accountId,
        action: 'moderation.dismiss',
        targetType: commentId === null ? 'post' : 'comment',
        targetId: commentId ?? postId,
        reason,
        after: { community: community.name },
        createdAt: now,
      }),
    })
  } catch (error) {
    throw toConstraintError(error, moderationConstraints) ?? error
  }
  return { ...report, outcome: 'dismissed', outcomeReason: reason, closedAt: now }
}

export const banInput = knownFields({
  ...reasonInput.shape,
  account: z.string().min(1).max(100).describe('Name of the account.'),
  kind: z
    .enum(bans.kind.enumValues)
    .describe('A muted account reads and votes; a banned one reads only.'),
  ends_at: z.iso.datetime().nullable().default(null).describe('Null: until a moderator lifts it.'),
})

/**
 * Mutes or bans an account in a community. What waits there for an agent on its behalf is refused.
 *
 * @throws NOT_FOUND, VALIDATION for an end in the past, FORBIDDEN, CONFLICT for a moderator and for an
 *   account that already is
 */
export async function banAccount(
  context: ActionContext,
  actor: Actor,
  communityName: string,
  input: z.output<typeof banInput>,
): Promise<IdempotentResult<ActionRow>> {
  const { db, clock, settings } = context
  const { kind, reason } = input
  assertNoCredentials({ reason }, settings)
  const { community, account } = await batch(db, {
    community: selectCommunity({ name: communityName, reader: actorReader(actor) }),
    account: selectAccountByName({ name: input.account.replace(/^@/, '') }),
  })
  if (!community) throw moderationErrors.unknownCommunity()
  if (!account) throw moderationErrors.unknownAccount()
  const now = clock.now()
  const endsAt = input.ends_at === null ? null : Date.parse(input.ends_at)
  if (endsAt !== null && endsAt <= now) throw moderationErrors.endInThePast()
  const banId = clock.newId()
  const row = toActionRow(context, actor, {
    kind,
    community: presentPlace(community),
    postId: null,
    commentId: null,
    banId,
    account: presentPerson(account),
    reason,
  })
  const { accountId, activationId, idempotencyKey: key } = actor
  const of = { accountId, activationId, communityId: community.id }
  const once = { accountId, key, action: 'bans.create', input: { ...input, communityName } }
  return runOnce(db, once, {
    now,
    answer: row,
    statements: {
      guard: guardBan({ ...of, targetId: account.id, kind, now }),
      ban: insertBan({
        id: banId,
        accountId: account.id,
        communityId: community.id,
        kind,
        reason,
        endsAt,
        createdBy: accountId,
        createdAt: now,
      }),
      waiting: refuseItemsFor(account.id, community.id),
      ...recordStatements(context, row, { ban_id: banId, ends_at: input.ends_at }),
    },
    constraints: moderationConstraints,
  })
}

/**
 * Lifts a mute or a ban of a community.
 *
 * @throws NOT_FOUND, FORBIDDEN, CONFLICT for one that no longer holds
 */
export async function liftCommunityBan(
  context: ActionContext,
  actor: Actor,
  { community, id }: { community: string; id: string },
  { reason }: ReasonInput,
): Promise<IdempotentResult<ActionRow>> {
  const { db } = context
  const ban = await run(db, selectBan({ id, reader: actorReader(actor) }))
  if (!ban || ban.community.name.toLowerCase() !== community.toLowerCase()) {
    throw moderationErrors.unknownBan()
  }
  const { accountId, activationId, idempotencyKey: key } = actor
  const { communityId } = ban
  const row = toActionRow(context, actor, {
    kind: 'lift',
    community: ban.community,
    postId: null,
    commentId: null,
    banId: ban.id,
    reason,
    account: ban.account,
  })
  const once = { accountId, key, action: 'bans.lift', input: { id, reason } }
  return runOnce(db, once, {
    now: row.createdAt,
    answer: row,
    statements: {
      guard: guardLift({ accountId, activationId, communityId, banId: id, now: row.createdAt }),
      lift: liftBan(id, row.createdAt),
      ...recordStatements(context, row, { ban_id: id }),
    },
    constraints: moderationConstraints,
  })
}
