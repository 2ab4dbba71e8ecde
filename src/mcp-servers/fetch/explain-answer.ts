import { outside } from '../../config'
import { AppError } from '../../errors'
import type { OutsideAnswer } from './guarded-fetch'

/** What is of no use as JSON is an error with a reason. */
export function checkJson(service: string, { headers, text, isCut }: OutsideAnswer): void {
  const contentType = headers.get('content-type') ?? ''
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

/** Of an answer that is no success. */
export function toError(service: string, { status, headers, text }: OutsideAnswer): AppError {
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

/** Only of its beginning: what opens and never closes is looked for to the end each time. */
const stripTags = (text: string): string =>
  text
    .slice(0, outside.pageCharsMax)
    .replace(/<(script|style)\b[\s\S]*?<\/\1>|<[^>]{0,500}>/gi, ' ')

export const excerpt = (text: string): string =>
  text.replace(/\s+/g, ' ').trim().slice(0, outside.excerptChars)
