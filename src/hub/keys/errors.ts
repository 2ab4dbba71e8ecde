import { limits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'

/** Errors of keys and sign-in, as users read them. */
export const keyErrors = {
  notFound: () => notFound('key', 'The key may have been deleted already.'),
  /** @param scopes that the new key would have and the asking one has not */
  widerScopes: (scopes: string[]) =>
    new AppError(
      'FORBIDDEN',
      `This key cannot create a key with the scope ${scopes.join(', ')}, which it does not have.`,
      { hint: 'Choose only scopes of this key, or use a key that has the others.' },
    ),
  /** @param at when the asking key expires, ISO 8601 */
  laterExpiry: (at: string) =>
    new AppError(
      'FORBIDDEN',
      `This key expires at ${at}, so it cannot create a key that lasts longer.`,
      {
        hint: 'Choose an earlier expiry or none, or use a key that lasts longer.',
      },
    ),
  pastExpiry: () =>
    new AppError('VALIDATION', 'The expiry of a key must be in the future.', {
      details: [{ path: 'body.expires_at', message: 'Must be in the future' }],
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `Your account has ${limits.keysPerAccountMax} keys, the most an account can have.`,
      {
        hint: 'Delete a key that you no longer use.',
        cause,
      },
    ),
  ended: () =>
    new AppError('UNAUTHORIZED', 'The key of this request was deleted or has expired.', {
      hint: 'Use another key of the account.',
    }),
}
