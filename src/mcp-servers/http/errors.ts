import { AppError } from '../../shared/errors'

/** Errors of HTTP requests to declared services, as models read them. */
export const httpErrors = {
  noBody: (method: string) => new AppError('VALIDATION', `A ${method} request has no body.`),
}
