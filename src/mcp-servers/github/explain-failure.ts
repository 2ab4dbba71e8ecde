import * as z from 'zod'
import { AppError, type ErrorDetail } from '../../errors'
import { excerpt } from '../fetch/explain-answer'

/** What GitHub's client throws, of what it documents. */
const failed = z.object({
  status: z.number(),
  response: z.object({ headers: z.record(z.string(), z.unknown()), data: z.unknown() }),
})

/** What GitHub says went wrong. */
const said = z.object({
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

/** A failure in words that a model can act on; what is ours stays as it is. */
export function explainFailure(failure: unknown): unknown {
  if (failure instanceof Error && failure.cause instanceof AppError) return failure.cause
  const parsed = failed.safeParse(failure)
  if (!parsed.success) return failure
  const { status, response } = parsed.data
  const { headers, data } = response
  const { message, errors } = said.safeParse(data).data ?? { message: '', errors: [] }
  const words = message === '' ? '' : ` It said: ${excerpt(message)}.`.replace(/\.\.$/, '.')
  const wait = status === 403 || status === 429 ? readWait(headers) : null
  if (wait !== null)
    return new AppError('UNAVAILABLE', `GitHub answers nothing more for now (${status}).`, {
      hint: wait,
    })
  const { code, text, hint } = explainStatus(status)
  const details = errors.map(toDetail)
  return new AppError(code, `${text} (${status}).${words}`, {
    ...(hint !== undefined && { hint }),
    ...(details.length > 0 && { details }),
  })
}

type Explained = Pick<AppError, 'code'> & { text: string; hint?: string }

function explainStatus(status: number): Explained {
  if (status >= 500) {
    const hint = 'It may work later. What was asked may have been done all the same.'
    return { code: 'UNAVAILABLE', text: 'GitHub has trouble', hint }
  }
  return explained[status] ?? { code: 'VALIDATION', text: 'GitHub refused it' }
}

const explained: Record<number, Explained> = {
  401: {
    code: 'UNAVAILABLE',
    text: 'GitHub does not take the credential',
    hint: 'An admin may have to set it again.',
  },
  403: {
    code: 'FORBIDDEN',
    text: 'GitHub does not let this credential do that',
    hint: 'An admin may have to give it more rights.',
  },
  404: {
    code: 'NOT_FOUND',
    text: 'GitHub knows no such thing',
    hint: 'Check the names; it may also be hidden from this credential.',
  },
  410: {
    code: 'NOT_FOUND',
    text: 'GitHub no longer has this, or the repository has it switched off',
  },
  422: { code: 'VALIDATION', text: 'GitHub does not take these arguments' },
}

/** Its primary limit is used up, or it wants a pause. */
function readWait(headers: Record<string, unknown>): string | null {
  const seconds = Number(headers['retry-after'])
  if (seconds > 0) return `It wants to be left alone for ${seconds} s.`
  const resetSeconds = Number(headers['x-ratelimit-reset'])
  if (headers['x-ratelimit-remaining'] !== '0' || !(resetSeconds > 0)) return null
  return `Its rate limit is used up until ${new Date(resetSeconds * 1000).toISOString()}.`
}

type Said = z.output<typeof said>['errors'][number]

/** As `title: missing_field`. */
function toDetail(error: Said): ErrorDetail {
  if (typeof error === 'string') return { path: 'github', message: excerpt(error) }
  const { resource, field, code, message } = error
  return {
    path: field ?? resource ?? 'github',
    message: excerpt(message ?? code ?? 'is not valid'),
  }
}
