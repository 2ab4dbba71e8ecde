import * as z from 'zod'
import { brave } from '../../shared/config'
import type { AppError } from '../../shared/errors'
import type { Connection } from '../credentials/connection'
import { checkJson, excerpt } from '../fetch/explain-answer'
import type { ServiceResponse } from '../fetch/guarded-fetch'
import { joinPath } from '../fetch/join-path'
import { braveErrors } from './errors'

interface BraveRequest<Schema extends z.ZodType> {
  path: string
  query: Record<string, string>
  /** Schema of the response. */
  answer: Schema
}

/** Sends a request to Brave's search API. A request over the rate of the plan is repeated once. */
export async function requestBrave<Schema extends z.ZodType>(
  outside: Connection | null,
  { path, query, answer }: BraveRequest<Schema>,
): Promise<z.output<Schema>> {
  if (!outside) throw new Error('The gateway opens the service first.')
  const request = {
    method: 'GET',
    url: joinPath(outside.baseUrl, path, query),
    headers: { accept: 'application/json', 'user-agent': 'Rookery', ...outside.headers },
  }
  let response = await outside.fetch(request)
  const waitMs = readRetryAfterMs(response)
  if (waitMs !== null && waitMs <= brave.pauseMsMax) {
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    response = await outside.fetch(request)
  }
  if (response.status >= 300) throw explainFailure(response)
  checkJson('brave', response)
  const read = answer.safeParse(parse(response.text))
  if (read.success) return read.data
  throw braveErrors.unknownFormat(read.error)
}

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return null
  }
}

/**
 * Returns the milliseconds until the rate limit resets; null: it is not reached. Brave sends lists, the
 * shortest window first: requests left, and seconds until the reset.
 */
function readRetryAfterMs({ status, headers }: ServiceResponse): number | null {
  if (status !== 429) return null
  const remaining = readList(headers, 'x-ratelimit-remaining')
  const resetSeconds = readList(headers, 'x-ratelimit-reset')
  const used = remaining.findLastIndex((left) => left <= 0)
  return (resetSeconds[used === -1 ? 0 : used] ?? Number.POSITIVE_INFINITY) * 1000
}

const readList = (headers: Headers, name: string): number[] => {
  const text = headers.get(name) ?? ''
  return text === '' ? [] : text.split(',').map(Number)
}

const failure = z.object({
  error: z.object({ code: z.string().default(''), detail: z.string().default('') }),
})

/** Converts an error response to an error that a model can act on. */
function explainFailure(response: ServiceResponse): AppError {
  const { status, text } = response
  const error = failure.safeParse(parse(text)).data?.error
  const reason = excerpt(error?.code ?? '')
  const words = error?.detail ? `Brave says: ${excerpt(error.detail)}` : ''
  const unavailable = (advice: string) =>
    braveErrors.refused('UNAVAILABLE', reason, status, [words, advice].filter(Boolean).join(' '))
  if (status === 429) return unavailable(formatRetry(response))
  if (status >= 500) return unavailable('Try again later.')
  if (status === 401 || status === 403 || /TOKEN/.test(reason)) {
    return unavailable('An admin may have to set the key again.')
  }
  return braveErrors.refused('VALIDATION', reason, status, words)
}

function formatRetry(response: ServiceResponse): string {
  const retryAfterMs = readRetryAfterMs(response)
  if (retryAfterMs === null || !Number.isFinite(retryAfterMs)) return 'The rate limit is reached.'
  return `The limit of the plan is reached. Retry after ${Math.ceil(retryAfterMs / 1000)} s.`
}
