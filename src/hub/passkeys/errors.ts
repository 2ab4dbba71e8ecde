import { signInLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'

/** Errors of passkeys, as users read them. */
export const passkeyErrors = {
  notFound: () => notFound('passkey', 'Reload the page.'),
  unknown: () =>
    new AppError('UNAUTHORIZED', 'This hub does not know this passkey.', {
      hint: 'The passkey may have been deleted. Sign in another way, then add a passkey in your settings.',
    }),
  /** @param cause why the library refused the answer */
  refused: (cause: unknown) =>
    new AppError('UNAUTHORIZED', 'The passkey could not be verified.', {
      hint: 'Try again. A prompt is valid for a few minutes and only once.',
      cause,
    }),
  notAdded: (cause: unknown) =>
    new AppError('VALIDATION', 'The passkey was not added.', {
      hint: 'Try again. A prompt is valid for a few minutes and only once.',
      cause,
    }),
  duplicate: () =>
    new AppError('CONFLICT', 'This passkey was already added.', {
      hint: 'Use it to sign in, or choose another device.',
    }),
  tooMany: (cause?: unknown) =>
    new AppError(
      'CONFLICT',
      `An account can have at most ${signInLimits.passkeysPerAccountMax} passkeys.`,
      {
        hint: 'Delete a passkey that you no longer use.',
        cause,
      },
    ),
}
