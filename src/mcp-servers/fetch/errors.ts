import { AppError } from '../../shared/errors'

const mayHaveCompleted = 'Try again later. The action may still have completed.'

/** Errors of requests to external services, as models read them. */
export const fetchErrors = {
  pathOutsideBase: () =>
    new AppError('VALIDATION', 'The path must be below the base URL.', {
      hint: 'Write it like /items/7, without "..", "//", "\\" or "#". Pass parameters in query.',
    }),
  invalidEscape: () =>
    new AppError('VALIDATION', 'The path contains an invalid percent escape.', {
      hint: 'Write escapes of UTF-8 characters like %20, and the percent sign as %25.',
    }),
  webPage: (service: string, excerpt: string) =>
    new AppError('UNAVAILABLE', `The service ${service} answered with a web page.`, {
      hint: `It begins: ${excerpt}. The path may be wrong, or the service requires a sign-in.`,
    }),
  invalidJson: (service: string, excerpt: string) =>
    new AppError('UNAVAILABLE', `The service ${service} answered with invalid JSON.`, {
      hint: `It begins: ${excerpt}`,
    }),
  status: (service: string, status: number, hint: string) =>
    new AppError(
      status >= 500 || status === 429 ? 'UNAVAILABLE' : 'VALIDATION',
      `The service ${service} answered ${status}.`,
      { hint },
    ),
  timedOut: (service: string, timeoutMs: number, cause: unknown) =>
    new AppError('UNAVAILABLE', `The service ${service} timed out after ${timeoutMs / 1000} s.`, {
      hint: mayHaveCompleted,
      cause,
    }),
  failed: (service: string, cause: unknown) =>
    new AppError(
      'UNAVAILABLE',
      `The service ${service} could not be reached, or the connection broke.`,
      { hint: mayHaveCompleted, cause },
    ),
  blocked: (service: string, reason: string) =>
    new AppError('FORBIDDEN', `The request to ${service} was blocked: ${reason}.`),
  dnsFailed: (hostname: string, resolver: string, cause: unknown) =>
    new AppError('UNAVAILABLE', `DNS lookup of ${hostname} failed (resolver: ${resolver}).`, {
      hint: 'Try again later. If it keeps failing, an admin sets ROOKERY_DNS_OVER_HTTPS to a resolver that this hub reaches, or to off.',
      cause,
    }),
}
