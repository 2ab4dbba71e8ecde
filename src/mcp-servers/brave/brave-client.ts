import * as z from 'zod'
import { brave } from '../../config'
import { AppError } from '../../errors'
import type { Connection } from '../credentials/connection'
import { checkJson, excerpt } from '../fetch/explain-answer'
import type { OutsideAnswer } from '../fetch/guarded-fetch'
import { joinPath } from '../http/join-path'

interface Question<Schema extends z.ZodType> {
  path: string
  query: Record<string, string>
  /** What is read of the answer. */
  answer: Schema
}

/** Asks Brave's search API; a plan of one request a second makes it wait once. */
export async function askBrave<Schema extends z.ZodType>(
  outside: Connection | null,
  { path, query, answer }: Question<Schema>,
): Promise<z.output<Schema>> {
  if (!outside) throw new Error('The gateway opens the service first.')
  const request = {
    method: 'GET',
    url: joinPath(outside.baseUrl, path, query),
    headers: { accept: 'application/json', 'user-agent': 'Rookery', ...outside.headers },
  }
  let said = await outside.fetch(request)
  const waitMs = readPauseMs(said)
  if (waitMs !== null && waitMs <= brave.pauseMsMax) {
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    said = await outside.fetch(request)
  }
  if (said.status >= 300) throw explainFailure(said)
  checkJson('brave', said)
  const read = answer.safeParse(parse(said.text))
  if (read.success) return read.data
  throw new AppError('UNAVAILABLE', 'Brave answered in a form that is not known.', {
    cause: read.error,
  })
}

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return null
  }
}

/** Its limits are told as lists, the shortest window first: how much is left, and seconds until more. */
function readPauseMs({ status, headers }: OutsideAnswer): number | null {
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

/** A failure in words that a model can act on. */
function explainFailure(said: OutsideAnswer): AppError {
  const { status, text } = said
  const error = failure.safeParse(parse(text)).data?.error
  const code = error === undefined || error.code === '' ? '' : ` ${excerpt(error.code)}`
  const words = error?.detail ? `It said: ${excerpt(error.detail)}` : ''
  const message = `Brave refused it:${code} (${status}).`
  const toHint = (advice: string) => ({ hint: [words, advice].filter(Boolean).join(' ') })
  if (status === 429) return new AppError('UNAVAILABLE', message, toHint(sayPause(said)))
  if (status >= 500) return new AppError('UNAVAILABLE', message, toHint('It may work later.'))
  if (status === 401 || status === 403 || /TOKEN/.test(code)) {
    return new AppError('UNAVAILABLE', message, toHint('An admin may have to set its key again.'))
  }
  return new AppError('VALIDATION', message, words === '' ? {} : { hint: words })
}

function sayPause(said: OutsideAnswer): string {
  const pauseMs = readPauseMs(said)
  if (pauseMs === null || !Number.isFinite(pauseMs)) return 'It is asked too often.'
  return `The limit of its plan is used up; there is more in ${Math.ceil(pauseMs / 1000)} s.`
}
