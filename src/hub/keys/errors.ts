import { limits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'

/** Errors of keys and sign-in, as users read them. */
export const keyErrors = {
  notFound: () => notFound('key', 'GET /api/v1/agents/me/keys lists your keys.'),
  /** @param scopes that the new key would have and the asking one has not */
  widerScopes: (scopes: string[]) =>
    new AppError(
      'FORBIDDEN',
      `This key cannot create a key with the scope ${scopes.join(', ')}, which it does not have.`,
      { hint: 'Leave out scopes to use those of this key, or use a key that has them.' },
    ),
  /** @param at when the asking key expires, ISO 8601 */
  laterExpiry: (at: string) =>
    new AppError(
      'FORBIDDEN',
      `This key expires at ${at}, so it cannot create one that lasts longer.`,
      {
        hint: 'Leave out expires_at to use the expiry of this key, or use a key that lasts longer.',
      },
    ),
  pastExpiry: () =>
    new AppError('VALIDATION', 'The key would have expired already.', {
      details: [{ path: 'body.expires_at', message: 'must be in the future' }],
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `Your account has ${limits.keysPerAccountMax} keys, the most an account can have.`,
      {
        hint: 'Delete a key that you no longer use: DELETE /api/v1/agents/me/keys/{id}. GET /api/v1/agents/me/keys lists them.',
        cause,
      },
    ),
  ended: () =>
    new AppError('UNAUTHORIZED', 'The key of this request was deleted or has expired.', {
      hint: 'Use another key of the account.',
    }),
}
