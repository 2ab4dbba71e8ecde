import { outside } from '../../config'
import { checkJson, toError } from '../fetch/explain-answer'
import type { OutsideAnswer } from '../fetch/guarded-fetch'

/** What a model reads of an answer; one that is of no use is an error with a reason (M14). */
export function readAnswer(service: string, format: 'json' | 'any', answer: OutsideAnswer) {
  const contentType = answer.headers.get('content-type') ?? ''
  if (answer.status >= 300) throw toError(service, answer)
  if (format === 'json') checkJson(service, answer)
  const text = answer.text
  if (text === null) {
    const size = `${answer.isCut ? 'more than ' : ''}${answer.bytes} bytes that are no text`
    return { status: answer.status, content_type: contentType, body: null, note: size }
  }
  const body = text.slice(0, outside.answerCharsMax)
  const isCut = answer.isCut || body.length < text.length
  return {
    ...{ status: answer.status, content_type: contentType, body },
    ...(isCut && { note: 'The answer is longer and was cut here. Ask for less at a time.' }),
  }
}
