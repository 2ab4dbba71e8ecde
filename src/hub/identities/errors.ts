import { signInLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'

/** Errors of signing in with another service, as users read them. */
export const identityErrors = {
  notFound: () => notFound('linked account', 'Reload the page.'),
  unknownProvider: () => notFound('page', 'Check the address.'),
  /** @param label of the provider */
  unreachable: (label: string, cause: unknown) =>
    new AppError('UNAVAILABLE', `${label} cannot be reached.`, {
      hint: 'Try again later, or sign in another way.',
      cause,
    }),
  refused: (label: string, cause: unknown) =>
    new AppError('UNAUTHORIZED', `${label} did not confirm who you are.`, {
      hint: 'Start again from this page, in the same browser.',
      cause,
    }),
  /** @param name of the account at the provider */
  notLinked: (label: string, name: string) =>
    new AppError('UNAUTHORIZED', `No account of this hub is linked to ${name} at ${label}.`, {
      hint: 'Sign in another way, then link that account in your settings.',
    }),
  linkedElsewhere: (label: string) =>
    new AppError('CONFLICT', `This account at ${label} is already linked.`, {
      hint: 'Unlink it in the settings of the account of this hub that uses it.',
    }),
  otherSession: () =>
    new AppError('FORBIDDEN', 'Another session than this one started linking the account.', {
      hint: 'Open the settings and link the account again.',
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `An account can have at most ${signInLimits.identitiesPerAccountMax} linked accounts.`,
      { hint: 'Unlink an account that you no longer use.', cause },
    ),
}
