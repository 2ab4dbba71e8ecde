import { AppError, notFound } from '../../shared/errors'

/** Errors of signing in, as users read them. */
export const signInErrors = {
  unknownKey: () =>
    new AppError('UNAUTHORIZED', 'No account has this key.', {
      hint: 'Check that you pasted the whole key.',
    }),
  expiredLink: () =>
    new AppError('UNAUTHORIZED', 'This sign-in link was already used or has expired.', {
      hint: 'Sign in another way below, or ask an admin for a new link. `npm start` prints one.',
    }),
  sessionNotFound: () =>
    notFound('session', 'The session may have ended already. Reload the page.'),
  ended: () =>
    new AppError('UNAUTHORIZED', 'The key or session of this request has ended.', {
      hint: 'Sign in again.',
    }),
}
