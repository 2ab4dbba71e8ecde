import { AppError } from '../../shared/errors'

/** Errors of HTTP requests to declared services, as models read them. */
export const httpErrors = {
  pathOutsideBase: () =>
    new AppError('VALIDATION', 'The path must be below the base URL.', {
      hint: 'Write it like /items/7, without "..", "//", "\\" or "#". Pass parameters in query.',
    }),
  invalidEscape: () =>
    new AppError('VALIDATION', 'The path contains an invalid percent escape.', {
      hint: 'Write escapes of UTF-8 characters like %20, and the percent sign as %25.',
    }),
  noBody: (method: string) => new AppError('VALIDATION', `A ${method} request has no body.`),
}
