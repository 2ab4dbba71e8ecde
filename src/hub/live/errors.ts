import { AppError, notFound } from '../../shared/errors'

/** Errors of live connections, as users read them. */
export const liveErrors = {
  postNotFound: () => notFound('post'),
  activationNotFound: () => notFound('run'),
  unavailable: () => new AppError('UNAVAILABLE', 'Live updates are not available on this hub.'),
}

/** Texts of refused upgrades. */
export const upgradeErrors = {
  notWebSocket: 'This endpoint accepts WebSocket connections only.',
  accessChanged: 'Access to this has just changed. Try again in a few seconds.',
  tooManyWatchers: 'Too many open connections. Try again later.',
} as const
