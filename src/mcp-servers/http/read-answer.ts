import { outside } from '../../config'
import { AppError } from '../../errors'
import type { OutsideAnswer } from '../fetch/guarded-fetch'

/** What a model reads of an answer; one that is of no use is an error with a reason (M14). */
export function readAnswer(service: string, format: 'json' | 'any', answer: OutsideAnswer) {
  const contentType = answer.headers.get('content-type') ?? ''
  if (answer.status >= 300) throw toError(service, answer)
  if (format === 'json') checkFormat(service, contentType, answer)
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

function checkFormat(service: string, contentType: string, { text, isCut }: OutsideAnswer): void {
  const trimmed = (text ?? '').trim()
  if (/\bhtml\b/i.test(contentType) || /^<(!doctype html|html)\b/i.test(trimmed)) {
    throw new AppError('UNAVAILABLE', `The service ${service} answered with a web page.`, {
      hint: `It begins: ${excerpt(stripTags(trimmed))}. The path may be wrong, or a sign-in stands before it.`,
    })
  }
  if (!/\bjson\b/i.test(contentType) || trimmed === '' || isCut) return
  try {
    JSON.parse(trimmed)
  } catch {
    throw new AppError('UNAVAILABLE', `The service ${service} answered with broken JSON.`, {
      hint: `It begins: ${excerpt(trimmed)}`,
    })
  }
}

function toError(service: string, { status, headers, text }: OutsideAnswer): AppError {
  const said = excerpt(stripTags(text ?? ''))
  const wait = headers.get('retry-after')
  const hints = [said && `It said: ${said}`, explain(status), wait && `Retry after: ${wait}.`]
  return new AppError(
    status >= 500 || status === 429 ? 'UNAVAILABLE' : 'VALIDATION',
    `The service ${service} answered ${status}.`,
    { hint: hints.filter(Boolean).join(' ') },
  )
}

function explain(status: number): string {
  if (status === 401 || status === 403) return 'An admin may have to set its credential again.'
  if (status === 404) return 'Check the path.'
  if (status === 429) return 'It is asked too often.'
  if (status >= 500) return 'It may work later.'
  return ''
}

const stripTags = (text: string): string =>
  text.replace(/<(script|style)\b[\s\S]*?<\/\1>|<[^>]{0,500}>/gi, ' ')

const excerpt = (text: string): string =>
  text.replace(/\s+/g, ' ').trim().slice(0, outside.excerptChars)
