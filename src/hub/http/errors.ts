import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import * as z from 'zod'
import { AppError, type ErrorDetail } from '../../shared/errors'
import { toHoldError } from '../hold-errors'
import { httpErrors } from './http-errors'
import type { HubEnv } from './hub-env'

/** Body of every failed API call. */
export interface ErrorBody {
  success: false
  error: string
  code: string
  hint: string | null
  details?: ErrorDetail[]
}

/** Converts zod issues to details with field paths such as `body.title`. */
export function listDetails(error: z.ZodError, place: string): ErrorDetail[] {
  return error.issues.map((issue) => ({
    path: [place, ...issue.path.map(String)].filter(Boolean).join('.'),
    message: issue.message,
  }))
}

/** Converts any thrown value to an AppError. The cause of an unexpected error stays private: INTERNAL. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof z.ZodError) return httpErrors.invalidRequest(listDetails(error, ''))
  return toHoldError(error) ?? httpErrors.internal(error)
}

/** A hold lasts a minute at most, and mostly seconds. */
const holdRetrySeconds = '5'

/** Answers a failed API call; an unexpected error is also logged. */
export function toErrorResponse(c: Context<HubEnv>, error: unknown): Response {
  const appError = toAppError(error)
  if (appError.code === 'INTERNAL') logInternalError(c, error)
  const body: ErrorBody = {
    success: false,
    error: appError.message,
    code: appError.code,
    hint: appError.hint,
    ...(appError.details ? { details: appError.details } : {}),
  }
  if (toHoldError(error)) c.header('retry-after', holdRetrySeconds)
  if (appError.code === 'UNAUTHORIZED') c.header('www-authenticate', 'Bearer')
  return c.json(body, appError.status as ContentfulStatusCode)
}

/** Logs an unexpected error with the request id, which the caller gets as X-Request-Id. */
export function logInternalError(c: Context<HubEnv>, error: unknown): void {
  const { context, requestId } = c.var
  context?.log.error('request failed', {
    request: requestId,
    method: c.req.method,
    path: c.req.path,
    error,
  })
}
