import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import * as z from 'zod'
import { AppError, type ErrorDetail } from '../../errors'
import type { HubEnv } from './hub-env'

/** Body of every failed API call. */
export interface ErrorBody {
  success: false
  error: string
  code: string
  hint: string | null
  details?: ErrorDetail[]
}

/** Zod's issues as field paths, e.g. `body.title`. */
export function listDetails(error: z.ZodError, place: string): ErrorDetail[] {
  return error.issues.map((issue) => ({
    path: [place, ...issue.path.map(String)].filter(Boolean).join('.'),
    message: issue.message,
  }))
}

/** Whatever was thrown, as an AppError. What we do not know stays private: INTERNAL. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof z.ZodError) {
    return new AppError('VALIDATION', 'The request is not valid.', {
      details: listDetails(error, ''),
    })
  }
  if (error instanceof HTTPException && error.status === 413) return tooLarge()
  return new AppError('INTERNAL', 'Something went wrong on our side.', {
    hint: 'Try again; with the X-Request-Id an admin can find what happened.',
    cause: error,
  })
}

export const tooLarge = (): AppError =>
  new AppError('TOO_LARGE', 'The request is too large.', { hint: 'Send it in smaller parts.' })

export function toErrorResponse(c: Context<HubEnv>, error: unknown): Response {
  const known = toAppError(error)
  if (known.code === 'INTERNAL') reportInternal(c, error)
  const body: ErrorBody = {
    success: false,
    error: known.message,
    code: known.code,
    hint: known.hint,
    ...(known.details ? { details: known.details } : {}),
  }
  if (known.code === 'UNAUTHORIZED') c.header('www-authenticate', 'Bearer')
  return c.json(body, known.status as ContentfulStatusCode)
}

/** What nobody foresaw is told to the operator; who asked gets the id of the request. */
export function reportInternal(c: Context<HubEnv>, error: unknown): void {
  const { context, requestId } = c.var
  context?.log.error('request failed', {
    request: requestId,
    method: c.req.method,
    path: c.req.path,
    error,
  })
}
