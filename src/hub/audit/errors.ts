import { AppError, type ErrorDetail, notFound } from '../../shared/errors'

/** Errors of the audit pages, as users read them. */
export const auditErrors = {
  signIn: () => new AppError('UNAUTHORIZED', 'Sign in to view the audit log.'),
  callNotFound: () =>
    notFound('call', 'The call may not exist. Only its owner and admins can view it.'),
  filter: (details: ErrorDetail[]) =>
    new AppError('VALIDATION', 'The filter is not valid.', { details }),
  csvFilter: (message: string, hint: string) => new AppError('VALIDATION', message, { hint }),
}
