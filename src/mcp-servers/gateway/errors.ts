import { AppError } from '../../shared/errors'

/** Errors of the gateway, as models and external callers read them. */
export const gatewayErrors = {
  /** @param text the refusal, as the caller reads it */
  refused: (text: string) => new AppError('FORBIDDEN', text),
  noConnections: () => new AppError('UNAVAILABLE', 'This hub cannot connect to external services.'),
}
