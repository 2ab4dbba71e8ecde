import { pushLimits } from '../../shared/config'
import { AppError, notFound } from '../../shared/errors'

/** Errors of messages to browsers, as users read them. */
export const pushErrors = {
  notFound: () => notFound('device', 'Reload the page.'),
  noKey: () =>
    new AppError('UNAVAILABLE', 'This hub cannot send push messages.', {
      hint: 'Its operator has to set ROOKERY_VAULT_KEY.',
    }),
  notAdded: () =>
    new AppError('CONFLICT', 'This device was not added.', {
      hint: `Sign in with a browser session; an account can have ${pushLimits.devicesPerAccountMax} devices.`,
    }),
  gone: () =>
    new AppError(
      'CONFLICT',
      'This browser no longer accepts messages, so it was deleted from the list.',
      {
        hint: 'Add it again from that browser.',
      },
    ),
  notSent: (reason: string) =>
    new AppError('UNAVAILABLE', `The test was not sent. ${reason}`, { hint: 'Try again later.' }),
  refused: (reason: string) => new AppError('CONFLICT', `The test was not sent. ${reason}`),
}
