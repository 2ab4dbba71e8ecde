import { moderationLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'
import type { ConstraintErrors } from '../constraint-errors'

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
