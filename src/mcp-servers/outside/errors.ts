import { AppError, notFound } from '../../shared/errors'

/** Errors of external callers and their tokens, as users read them. */
export const callerErrors = {
  keyMissing: () =>
    new AppError('UNAUTHORIZED', 'This request requires an API key.', {
      hint: 'Send an admin\'s key as "Authorization: Bearer <key>".',
    }),
  adminOnly: () =>
    new AppError('FORBIDDEN', 'Only an admin can do this.', {
      hint: "The admin's key is ROOKERY_ADMIN_KEY; `npm start` stores it as admin-key in its state directory.",
    }),
  noSigningKey: () =>
    new AppError('UNAVAILABLE', 'This hub has no vault key, so it cannot sign a token.', {
      hint: 'Create a key with `openssl rand -base64 32` and set it as the secret ROOKERY_VAULT_KEY.',
    }),
  restrictionsTooLarge: () =>
    new AppError('TOO_LARGE', "The definition's tool restrictions do not fit into a token.", {
      hint: 'Shorten tools.allow, tools.deny and blocked_patterns.',
    }),
  notRunning: () => notFound('running activation', 'It may have finished or be parked.'),
  definitionUnreadable: (agent: string) =>
    new AppError('UNAVAILABLE', `The definition of ${agent} cannot be read.`),
}
