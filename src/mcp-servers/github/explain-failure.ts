import * as z from 'zod'
import { AppError, type ErrorCode, type ErrorDetail } from '../../shared/errors'
import { excerpt } from '../fetch/explain-answer'
import { githubErrors } from './errors'

/** The documented part of an error that GitHub's client throws. */
const failed = z.object({
  status: z.number(),
  response: z.object({ headers: z.record(z.string(), z.unknown()), data: z.unknown() }),
})

/** The body of GitHub's error response. */
const errorBody = z.object({
  message: z.string().default(''),
  errors: z
    .array(
      z.union([
        z.string(),
        z.object({
          resource: z.string().optional(),
          field: z.string().optional(),
          code: z.string().optional(),
          message: z.string().optional(),
        }),
      ]),
    )
    .catch([])
    .default([]),
})

/** Converts an error of GitHub's client to one that a model can act on; an `AppError` stays unchanged. */
export function explainFailure(failure: unknown): unknown {
  if (failure instanceof Error && failure.cause instanceof AppError) return failure.cause
  const parsed = failed.safeParse(failure)
  if (!parsed.success) return failure
  const { status, response } = parsed.data
  const { headers, data } = response
  const { message, errors } = errorBody.safeParse(data).data ?? { message: '', errors: [] }
  const words = message === '' ? '' : ` GitHub says: ${excerpt(message)}.`.replace(/\.\.$/, '.')
  const retry = status === 403 || status === 429 ? formatRetry(headers) : null
  if (retry !== null) return githubErrors.rateLimited(status, retry)
  return githubErrors.refused(explainStatus(status), status, words, errors.map(toDetail))
}

interface StatusMessage {
  code: ErrorCode
  text: string
  hint?: string
}

function explainStatus(status: number): StatusMessage {
  if (status >= 500) return serverError
  return statusMessages[status] ?? { code: 'VALIDATION', text: 'GitHub refused the request' }
}

const serverError: StatusMessage = {
  code: 'UNAVAILABLE',
  text: 'GitHub failed',
  hint: 'Try again later. The action may still have completed.',
}

const statusMessages: Record<number, StatusMessage> = {
  401: {
    code: 'UNAVAILABLE',
    text: 'GitHub did not accept the credential',
    hint: 'An admin may have to set it again.',
  },
  403: {
    code: 'FORBIDDEN',
    text: "The credential's permissions do not allow this on GitHub",
    hint: 'An admin may have to give it more permissions.',
  },
  404: {
    code: 'NOT_FOUND',
    text: 'Not found on GitHub',
    hint: 'Check the name; the credential may not have access.',
  },
  410: {
    code: 'NOT_FOUND',
    text: 'Deleted on GitHub, or disabled in the repository',
  },
  422: { code: 'VALIDATION', text: 'GitHub did not accept these arguments' },
}

/** Formats when to retry after a primary or secondary rate limit; null: no limit was reached. */
function formatRetry(headers: Record<string, unknown>): string | null {
  const seconds = Number(headers['retry-after'])
  if (seconds > 0) return `Retry after ${seconds} s.`
  const resetSeconds = Number(headers['x-ratelimit-reset'])
  if (headers['x-ratelimit-remaining'] !== '0' || !(resetSeconds > 0)) return null
  return `The limit resets on ${new Date(resetSeconds * 1000).toISOString()}.`
}

type GithubError = z.output<typeof errorBody>['errors'][number]

/** Converts an error to a detail such as `title: missing_field`. */
function toDetail(error: GithubError): ErrorDetail {
  if (typeof error === 'string') return { path: 'github', message: excerpt(error) }
  const { resource, field, code, message } = error
  return {
    path: field ?? resource ?? 'github',
    message: excerpt(message ?? code ?? 'Not valid'),
  }
}
