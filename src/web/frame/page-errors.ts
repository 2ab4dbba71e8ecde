import { AppError } from '../../shared/errors'

/** Errors of pages, as users read them. */
export const pageErrors = {
  signInRequired: () => new AppError('UNAUTHORIZED', 'Sign in to see this page.'),
  sessionEnded: () =>
    new AppError('UNAUTHORIZED', 'You are not signed in, or your session has ended.', {
      hint: 'Sign in, then try again.',
    }),
  adminRequired: () =>
    new AppError('FORBIDDEN', 'Only an admin can see this page.', {
      hint: 'Sign in as an admin.',
    }),
}
