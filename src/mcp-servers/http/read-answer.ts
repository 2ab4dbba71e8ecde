import { checkJson, toError } from '../fetch/explain-answer'
import type { OutsideAnswer } from '../fetch/guarded-fetch'

/** What a model reads of an answer; one that is of no use is an error with a reason. */
export function readAnswer(service: string, format: 'json' | 'any', answer: OutsideAnswer) {
  const contentType = answer.headers.get('content-type') ?? ''
  if (answer.status >= 300) throw toError(service, answer)
  if (format === 'json') checkJson(service, answer)
  const text = answer.text
  if (text === null) {
    const size = `${answer.isCut ? 'more than ' : ''}${answer.bytes} bytes that are no text`
    return { status: answer.status, content_type: contentType, body: null, note: size }
  }
  // The gateway bounds what is shown and keeps the whole; the note stands where it is seen.
  return {
    ...{ status: answer.status, content_type: contentType },
    ...(answer.isCut && { note: `The answer is longer; ${answer.bytes} bytes of it were read.` }),
    body: text,
  }
}
