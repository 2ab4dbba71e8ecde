import { expect, test } from 'vitest'
import { checkJson, toResponseError } from '../../../src/mcp-servers/fetch/explain-answer'
import { outside } from '../../../src/shared/config'
import { AppError } from '../../../src/shared/errors'

const answer = (text: string) => ({
  status: 400,
  headers: new Headers({ 'content-type': 'text/html' }),
  text,
  bytes: text.length,
  isTruncated: false,
})
const hintsOf = (text: string) => {
  const hints = [toResponseError('weather', answer(text)).hint]
  try {
    checkJson('weather', answer(text))
  } catch (error) {
    if (error instanceof AppError) hints.push(error.hint)
  }
  return hints
}

test('M14: of a long page only the beginning is looked at for words', () => {
  const page = `<h1>Sorry</h1>${' '.repeat(outside.pageCharsMax)}Never read.`
  expect(hintsOf(page)).toEqual([
    'Response: Sorry',
    'It begins: Sorry. The path may be wrong, or the service requires a sign-in.',
  ])
})

test('M14: a page of scripts that never end is told of as its beginning is', () => {
  const page = '<script '.repeat(250_000)
  expect(hintsOf(page)).toEqual(hintsOf(page.slice(0, outside.pageCharsMax)))
})
