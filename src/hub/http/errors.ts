import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import * as z from 'zod'
import { limits } from '../../shared/config'
import { DatabaseFault, StorageFull, wasStorageFull } from '../../shared/db/database-fault'
import { describeIssue } from '../../shared/describe-issue'
import { AppError, type ErrorCode, type ErrorDetail } from '../../shared/errors'
import { toIssuePath } from '../../shared/known-fields'
import { toAccessError } from '../contract/access'
import { toHoldError } from '../database/constraint-errors'
import type { HubEnv } from './hub-env'

/** Hint for callers without a key of a private hub. */
export const privateHubHint =
  'This hub is private. Ask an admin to register you with POST /api/v1/accounts and the admin key.'

/** Errors of HTTP requests, as users read them. */
export const httpErrors = {
  unauthorized: (message: string, keySource: string) =>
    new AppError('UNAUTHORIZED', message, {
      hint: `Send "Authorization: Bearer <key>". ${keySource}`,
    }),
  sessionScope: (scope: string) =>
    new AppError('FORBIDDEN', `You are signed in with a key that lacks the scope "${scope}".`, {
      hint: `Sign in with a key that has the scope "${scope}".`,
    }),
  keyScope: (scope: string) =>
    new AppError('FORBIDDEN', `This key lacks the scope "${scope}".`, {
      hint: `Use a key with the scope "${scope}".`,
    }),
  adminOnly: () =>
    new AppError('FORBIDDEN', 'Only admins can do this.', {
      hint: 'Sign in as an admin, or use the key of an admin account.',
    }),
  crossSite: () =>
    new AppError('FORBIDDEN', 'The request was rejected because another site sent it.', {
      hint: 'Open the hub and try again. Programs must send a key.',
    }),
  unknownRoute: (path: string) =>
    new AppError('NOT_FOUND', `${path.slice(0, 200)} is not a path of this API.`, {
      hint: 'GET /api/v1/openapi.json lists all paths.',
    }),
  methodNotAllowed: (method: string, allowed: readonly string[]) =>
    new AppError('METHOD_NOT_ALLOWED', `${method} is not supported for this path.`, {
      hint: `Use ${allowed.map((each) => each.toUpperCase()).join(' or ')}.`,
    }),
  notJson: () =>
    new AppError('UNSUPPORTED_MEDIA', 'The body must be JSON.', {
      hint: 'Send Content-Type: application/json.',
    }),
  otherCharset: () =>
    new AppError('UNSUPPORTED_MEDIA', 'The body must be in UTF-8.', {
      hint: 'Send charset=utf-8 in Content-Type, or no charset.',
    }),
  encoded: () =>
    new AppError('UNSUPPORTED_MEDIA', 'The body must not be compressed.', {
      hint: 'Send it without Content-Encoding.',
    }),
  notUtf8: (cause: unknown) =>
    new AppError('VALIDATION', 'The body is not valid UTF-8.', {
      details: [{ path: 'body', message: 'Must be valid UTF-8' }],
      cause,
    }),
  malformedJson: (cause: unknown) =>
    new AppError('VALIDATION', 'The body is not valid JSON.', {
      details: [{ path: 'body', message: 'Must be valid JSON' }],
      cause,
    }),
  invalidRequest: (details: ErrorDetail[], hint?: string) =>
    new AppError('VALIDATION', 'The request is not valid.', { details, ...(hint && { hint }) }),
  invalidIdempotencyKey: () =>
    new AppError('VALIDATION', 'The Idempotency-Key is not valid.', {
      details: [
        {
          path: 'header.idempotency-key',
          message: `Must be 1 to ${limits.idempotencyKeyCharsMax} printable characters`,
        },
      ],
    }),
  notForm: () =>
    new AppError('UNSUPPORTED_MEDIA', 'The body must be a form.', {
      hint: 'Send Content-Type: application/x-www-form-urlencoded, or use the API with JSON.',
    }),
  malformedForm: (cause: unknown) =>
    new AppError('VALIDATION', 'The form is not valid.', {
      hint: 'Open the page again and send its form.',
      cause,
    }),
  tooDeep: (depthMax: number) =>
    new AppError('VALIDATION', 'The body is nested too deeply.', {
      details: [{ path: 'body', message: `Must have at most ${depthMax} levels` }],
    }),
  tooManyValues: (valuesMax: number) =>
    new AppError('TOO_LARGE', `The body has more than ${valuesMax} values.`, {
      hint: 'Send it in several requests.',
    }),
  tooLarge: (bytesMax: number) =>
    new AppError('TOO_LARGE', 'The request is too large.', {
      hint: `Send at most ${Math.floor(bytesMax / 1024)} KiB, in several requests if necessary.`,
    }),
  bodyTimedOut: (readMs: number) =>
    new AppError('REQUEST_TIMEOUT', 'The body did not arrive in time.', {
      hint: `Send the whole request within ${readMs / 1_000} seconds.`,
    }),
  wrongHost: (host: string) =>
    new AppError('WRONG_HOST', `This hub does not answer requests for ${host.slice(0, 200)}.`, {
      hint: 'Use the address of the hub. Its operator lists the addresses in ROOKERY_ORIGIN.',
    }),
  rateLimited: (retryAfterMs: number) => {
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000))
    return new AppError('RATE_LIMITED', 'Too many requests.', {
      hint: `Try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`,
    })
  },
  databaseFault: (cause: unknown) =>
    new AppError('UNAVAILABLE', 'The database of the hub did not answer.', {
      hint: 'Try again in a few seconds.',
      cause,
    }),
  storageFull: (cause: unknown) =>
    new AppError('STORAGE_FULL', 'The storage of the hub is full. Nothing was saved.', {
      hint: 'Ask the operator to free space on its disk, then try again.',
      cause,
    }),
  internal: (cause: unknown) =>
    new AppError('INTERNAL', 'An internal error occurred.', {
      hint: 'Try again. If the error persists, give an admin the request id (X-Request-Id).',
      cause,
    }),
}

/** Body of every failed API call. */
interface ErrorBody {
  success: false
  error: string
  code: string
  hint: string | null
  details?: ErrorDetail[]
}

/** Converts zod issues to details with field paths such as `body.title`. */
export function listDetails(error: z.ZodError, place: string): ErrorDetail[] {
  return error.issues.map((issue) => ({
    path: [place, ...toIssuePath(issue)].filter(Boolean).join('.'),
    message: describeIssue(issue),
  }))
}

/**
 * Converts any thrown value to an AppError. The cause of an unexpected error stays private: INTERNAL, or STORAGE_FULL while
 * writes find no room: files and objects fail with errors that do not say so.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof z.ZodError) return httpErrors.invalidRequest(listDetails(error, ''))
  if (error instanceof DatabaseFault) return httpErrors.databaseFault(error)
  if (error instanceof StorageFull) return httpErrors.storageFull(error)
  const known = toHoldError(error) ?? toAccessError(error)
  if (known) return known
  return wasStorageFull(Date.now()) ? httpErrors.storageFull(error) : httpErrors.internal(error)
}

/** Whether the database did not take a request now, for a fault, without room or during a backup: it can be sent again. */
export const isRefusedForNow = (error: unknown): boolean =>
  error instanceof DatabaseFault || error instanceof StorageFull || toHoldError(error) !== null

/** Answers a failed API call. */
export function toErrorResponse(c: Context<HubEnv>, error: unknown): Response {
  const appError = toAppError(error)
  logUnexpectedError(c, error)
  const body: ErrorBody = {
    success: false,
    error: appError.message,
    code: appError.code,
    hint: appError.hint,
    ...(appError.details ? { details: appError.details } : {}),
  }
  if (appError.code === 'UNAUTHORIZED') c.header('www-authenticate', 'Bearer')
  if (appError.retryAfterMs !== null) {
    c.header('retry-after', String(Math.max(1, Math.ceil(appError.retryAfterMs / 1_000))))
  }
  return c.json(body, appError.status as ContentfulStatusCode)
}

const unexpected = new Set<ErrorCode>(['INTERNAL', 'STORAGE_FULL'])

/** Logs an error that no caller can cause, with the request id, which the caller gets as X-Request-Id. */
export function logUnexpectedError(c: Context<HubEnv>, error: unknown): void {
  if (!(error instanceof DatabaseFault) && !unexpected.has(toAppError(error).code)) return
  const { context, requestId } = c.var
  context?.log.error('request failed', {
    request: requestId,
    method: c.req.method,
    path: c.req.path.slice(0, 200),
    error,
  })
}
