import { checkJson, toResponseError } from '../fetch/explain-answer'
import type { ServiceResponse } from '../fetch/guarded-fetch'

/** Converts a response to the result for the model. @throws an error status or an unexpected format */
export function readAnswer(service: string, format: 'json' | 'any', answer: ServiceResponse) {
  const contentType = answer.headers.get('content-type') ?? ''
  if (answer.status >= 300) throw toResponseError(service, answer)
  if (format === 'json') checkJson(service, answer)
  const text = answer.text
  if (text === null) {
    const size = `${answer.isTruncated ? 'more than ' : ''}${answer.bytes} bytes that are not text`
    return { status: answer.status, content_type: contentType, body: null, note: size }
  }
  // The gateway truncates long results at the end, so the note comes before the body.
  return {
    status: answer.status,
    content_type: contentType,
    ...(answer.isTruncated && {
      note: `The response is longer; its first ${answer.bytes} bytes were read.`,
    }),
    body: text,
  }
}
