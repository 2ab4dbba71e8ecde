import { AppError, type ErrorDetail } from '../../shared/errors'

/** Errors of grants and policies, as users read them. */
export const grantErrors = {
  invalidEntries: (details: ErrorDetail[]) =>
    new AppError('VALIDATION', 'The policy contains invalid entries.', { details }),
  deleteDefault: () =>
    new AppError('VALIDATION', "You can't delete the default policy.", {
      hint: 'Edit it instead.',
    }),
  changedSince: (by: string | null) =>
    new AppError('CONFLICT', `${by ?? 'Another admin'} changed this policy while you edited it.`, {
      hint: 'Review the current changes, then save again.',
    }),
  signIn: () => new AppError('UNAUTHORIZED', 'Sign in to see this page.'),
  adminOnly: () =>
    new AppError('FORBIDDEN', 'Only admins can see the policy.', {
      hint: 'The page /tools lists the tools that you can use.',
    }),
}
