import { outside } from '../../shared/config'
import type { AppError } from '../../shared/errors'
import type { ServiceResponse } from './guarded-fetch'
import { fetchErrors } from './guarded-fetch'

/** Checks that a response is JSON. @throws UNAVAILABLE with the beginning of another response */
export function checkJson(service: string, { headers, text, isTruncated }: ServiceResponse): void {
  const contentType = headers.get('content-type') ?? ''
  const trimmed = (text ?? '').trim()
  if (/\bhtml\b/i.test(contentType) || /^<(!doctype html|html)\b/i.test(trimmed)) {
    throw fetchErrors.webPage(service, excerpt(stripTags(trimmed)))
  }
  if (!/\bjson\b/i.test(contentType) || trimmed === '' || isTruncated) return
  try {
    JSON.parse(trimmed)
  } catch {
    throw fetchErrors.invalidJson(service, excerpt(trimmed))
  }
}

/** Converts a response with an error status to an error that a model can act on. */
export function toResponseError(
  service: string,
  { status, headers, text }: ServiceResponse,
): AppError {
  const body = excerpt(stripTags(text ?? ''))
  const retryAfter = headers.get('retry-after')
  const hints = [
    body && `Response: ${body}`,
    adviceFor(status),
    retryAfter && `Retry after: ${retryAfter}.`,
  ]
  return fetchErrors.status(service, status, hints.filter(Boolean).join(' '))
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return 'An admin may have to set the credential again.'
  if (status === 404) return 'Check the path.'
  if (status === 429) return 'The rate limit of the service is reached.'
  if (status >= 500) return 'Try again later.'
  return ''
}

/** Removes tags from the beginning of a page. Unclosed tags make the search slow, so the rest is dropped. */
const stripTags = (text: string): string =>
  text
    .slice(0, outside.pageCharsMax)
    .replace(/<(script|style)\b[\s\S]*?<\/\1>|<[^>]{0,500}>/gi, ' ')

/** Returns the beginning of a text, in one line. */
export const excerpt = (text: string): string =>
  text.replace(/\s+/g, ' ').trim().slice(0, outside.excerptChars)
