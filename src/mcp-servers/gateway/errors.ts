import { AppError } from '../../shared/errors'

/** Errors of the gateway, as models and external callers read them. */
export const gatewayErrors = {
  noConnections: () => new AppError('UNAVAILABLE', 'This hub cannot connect to external services.'),
  noSingleRequester: () =>
    new AppError(
      'FORBIDDEN',
      'This call uses the account of the requester, and there is not exactly one.',
    ),
}
