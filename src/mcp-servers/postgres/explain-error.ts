import { outside, postgresLimits } from '../../config'
import { AppError } from '../../errors'
import type { Login } from './driver'

/** What the server says of an error (PostgreSQL's protocol, ErrorResponse). */
interface ServerError {
  code: string
  severity: string
  message: string
  detail?: string
  hint?: string
  /** Of the character in the statement, from 1. */
  position?: string
}

/** An error that a model can act on; what the server says is scrubbed before it is cut. */
export function explainError(
  { service, scrub }: Login,
  { sql, isReadOnly }: { sql: string; isReadOnly: boolean },
  error: unknown,
): AppError {
  if (error instanceof AppError) return error
  if (!isServerError(error)) {
    const hint = isReadOnly
      ? 'It may work later.'
      : 'What was asked may have been done all the same: look before you repeat it.'
    const message = `The database ${service} could not be reached, or broke off.`
    return new AppError('UNAVAILABLE', message, { hint, cause: error })
  }
  const own = explainCode(service, error)
  if (own) return own
  const { severity, code, message, detail, hint, position } = error
  const said = [detail, hint && `Hint: ${hint}`, position && toPlace(sql, Number(position))]
  const shorten = (text: string) => scrub(text).slice(0, outside.excerptChars)
  return new AppError(
    isTemporary(code) ? 'UNAVAILABLE' : 'VALIDATION',
    shorten(`${severity} ${code}: ${message}.`),
    {
      hint: shorten(said.filter(Boolean).join(' ')),
    },
  )
}

const isServerError = (error: unknown): error is ServerError =>
  error instanceof Error && error.name === 'PostgresError' && 'code' in error

/** SQLSTATEs that need other words here than PostgreSQL's (its manual, appendix A). */
function explainCode(service: string, { code, message }: ServerError): AppError | null {
  if (code === '25006') {
    return new AppError('VALIDATION', `${code}: This tool only reads: ${message}.`, {
      hint: 'To change something use postgres_execute, which needs a grant of its own.',
    })
  }
  if (code === '57014') {
    const seconds = postgresLimits.statementMs / 1_000
    return new AppError(
      'UNAVAILABLE',
      `${code}: The statement took longer than ${seconds} s and was stopped.`,
      {
        hint: 'Ask for less, or look at its plan with EXPLAIN.',
      },
    )
  }
  if (code.startsWith('28')) {
    return new AppError(
      'UNAVAILABLE',
      `The database ${service} did not accept its credential (${code}).`,
      {
        hint: 'An admin may have to set it again.',
      },
    )
  }
  return null
}

/** Connection, resources, intervention of an operator, locks. */
const isTemporary = (code: string): boolean => /^(08|53|57|58|40|55P03)/.test(code)

const toPlace = (sql: string, position: number): string =>
  `At character ${position}: ${sql.slice(position - 1, position + 39).replace(/\s+/g, ' ')}`
