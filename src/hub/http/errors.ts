import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import * as z from 'zod'
import { DatabaseFault, StorageFull, wasStorageFull } from '../../shared/db/database-fault'
import { AppError, type ErrorCode, type ErrorDetail } from '../../shared/errors'
import { toIssuePath } from '../../shared/known-fields'
import { toAccessError } from '../contract/access'
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
    path: [place, ...toIssuePath(issue)].filter(Boolean).join('.'),
    message: issue.message,
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
