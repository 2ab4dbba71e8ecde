import { outside } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { Login } from './driver'
import { postgresErrors } from './errors'

/** An error of the server (PostgreSQL's protocol, ErrorResponse). */
interface ServerError {
  code: string
  severity: string
  message: string
  detail?: string
  hint?: string
  /** Position in the statement, in characters from 1. */
  position?: string
}

/** Converts an error to one that a model can act on. The server's message is redacted, then truncated. */
export function explainError(
  { service, scrub }: Login,
  { sql, isReadOnly }: { sql: string; isReadOnly: boolean },
  error: unknown,
): AppError {
  if (error instanceof AppError) return error
  if (!isServerError(error)) return postgresErrors.connectionFailed(service, isReadOnly, error)
  const own = explainCode(service, error)
  if (own) return own
  const { severity, code, message, detail, hint, position } = error
  const more = [detail, hint && `Hint: ${hint}`, position && toPlace(sql, Number(position))]
  const shorten = (text: string) => scrub(text).slice(0, outside.excerptChars)
  return postgresErrors.statement(
    isTemporary(code),
    shorten(`${severity} ${code}: ${message}.`),
    shorten(more.filter(Boolean).join(' ')),
  )
}

/**
 * Whether an error is the server's, by its fields: the driver names it after a class, which minifying renames. Errors of
 * connections have codes too, such as `EPIPE`, and no severity.
 */
const isServerError = (error: unknown): error is ServerError =>
  error instanceof Error &&
  'code' in error &&
  /^[0-9A-Z]{5}$/.test(String(error.code)) &&
  'severity' in error &&
  typeof error.severity === 'string'

/** Returns our own message for some SQLSTATEs (PostgreSQL's manual, appendix A); null for the others. */
function explainCode(service: string, { code, message }: ServerError): AppError | null {
  if (code === '25006') return postgresErrors.readOnly(code, message)
  if (code === '57014') return postgresErrors.timedOut(code)
  if (code.startsWith('28')) return postgresErrors.credentialRefused(service, code)
  return null
}

/** Whether a later call may succeed: SQLSTATEs of connections, resources, operator intervention and locks. */
const isTemporary = (code: string): boolean => /^(08|53|57|58|40|55P03)/.test(code)

const toPlace = (sql: string, position: number): string =>
  `At character ${position}: ${sql.slice(position - 1, position + 39).replace(/\s+/g, ' ')}`
