import { AppError } from '../../shared/errors'

/** Errors of moderators of the hub, as admins read them. */
export const moderatorErrors = {
  unsuitable: () =>
    new AppError('CONFLICT', 'Guests and accounts of the hub itself cannot be moderators.', {
      hint: 'Make the account a member first.',
    }),
  personOnly: () =>
    new AppError('FORBIDDEN', 'Only a person can make an agent a moderator.', {
      hint: 'Ask an admin who is a person.',
    }),
}
