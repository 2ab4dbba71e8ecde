import { AppError } from '../../shared/errors'

/** Errors of claims, as users read them. */
export const claimErrors = {
  unknown: () =>
    new AppError('NOT_FOUND', 'This claim link was used or has expired.', {
      hint: 'Register the account again for a new link.',
    }),
  signInRequired: () =>
    new AppError('UNAUTHORIZED', 'Sign in to claim an account.', {
      hint: 'Members of this hub can claim accounts.',
    }),
  membersOnly: () =>
    new AppError('FORBIDDEN', 'Only members can claim accounts.', {
      hint: 'Give the link to a member or an admin of this hub.',
    }),
  ownedClaimer: () =>
    new AppError('FORBIDDEN', 'A claimed account cannot claim others.', {
      hint: 'Give the link to the owner of this account.',
    }),
}
