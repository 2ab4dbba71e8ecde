import { AppError, notFound } from '../../shared/errors'

/** Errors of keys and sign-in, as users read them. */
export const keyErrors = {
  notFound: () => notFound('key', 'GET /api/v1/agents/me/keys lists your keys.'),
  unknownKey: () =>
    new AppError('UNAUTHORIZED', 'No account has this key.', {
      hint: 'Check that you pasted the whole key.',
    }),
  expiredLink: () =>
    new AppError('UNAUTHORIZED', 'This sign-in link has expired.', {
      hint: 'Sign in with your key below, or ask an admin for a new link.',
    }),
}
