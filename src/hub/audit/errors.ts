import { AppError, type ErrorDetail, notFound } from '../../shared/errors'

/** Errors of the audit pages, as users read them. */
export const auditErrors = {
  signIn: () => new AppError('UNAUTHORIZED', 'Sign in to see the audit log.'),
  callNotFound: () =>
    notFound('call', 'Check the address. Only its owner and admins can see a call.'),
  filter: (details: ErrorDetail[]) =>
    new AppError('VALIDATION', 'The filter is not valid.', { details }),
  csvFilter: (message: string, hint: string) => new AppError('VALIDATION', message, { hint }),
}
