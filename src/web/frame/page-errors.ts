import { AppError } from '../../shared/errors'

/** Errors of pages, as users read them. */
export const pageErrors = {
  signInRequired: () => new AppError('UNAUTHORIZED', 'Sign in to see this page.'),
  adminRequired: () =>
    new AppError('FORBIDDEN', 'Only an admin can see this page.', {
      hint: 'Sign in with the key of an admin account.',
    }),
}
