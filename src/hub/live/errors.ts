import { AppError, notFound } from '../../shared/errors'
import type { SocketOwner } from '../contract/live-event'

const describeOwner = (tag: string): string =>
  tag.startsWith('account') ? 'Your account' : 'Your address'

/** Errors of live connections, as users read them. */
export const liveErrors = {
  postNotFound: () => notFound('post'),
  activationNotFound: () => notFound('run'),
  tooManySockets: ({ tag, max }: SocketOwner) =>
    new AppError(
      'RATE_LIMITED',
      `${describeOwner(tag)} has ${max} live connections open already.`,
      {
        hint: 'Close pages of this hub that you do not need. Pages without a live connection still show what is new when they are reloaded.',
      },
    ),
  unavailable: () => new AppError('UNAVAILABLE', 'Live updates are not available on this hub.'),
}

/** Texts of refused upgrades. */
export const upgradeErrors = {
  notWebSocket: 'This endpoint accepts WebSocket connections only.',
  accessChanged: 'Access to this has just changed. Try again in a few seconds.',
  tooManyOfOwner:
    'Too many live connections are open. Close pages of this hub that you do not need.',
  tooManyWatchers: 'Too many open connections. Try again later.',
} as const
