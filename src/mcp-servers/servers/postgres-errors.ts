import { postgresLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'

const executeHint = 'To change data use postgres_execute, which requires its own grant.'

/** Errors of the PostgreSQL tools, as models read them. */
export const postgresErrors = {
  connectionFailed: (service: string, isReadOnly: boolean, cause: unknown) =>
    new AppError(
      'UNAVAILABLE',
      `The database ${service} could not be reached, or the connection broke.`,
      {
        hint: isReadOnly
          ? 'Try again later.'
          : 'The statement may still have completed: check before you repeat it.',
        cause,
      },
    ),
  notReachable: (cause: unknown) =>
    new AppError('UNAVAILABLE', 'The database could not be reached.', { cause }),
  noTls: () =>
    new AppError('UNAVAILABLE', 'The database does not offer TLS.', {
      hint: 'For a database in a private network an admin can declare ?sslmode=disable.',
    }),
  misconfigured: (service: string, reason: string) =>
    new AppError('UNAVAILABLE', `The database ${service} cannot be used: ${reason}.`, {
      hint: 'An admin can change the service at /credentials.',
    }),
  credentialRefused: (service: string, code: string) =>
    new AppError(
      'UNAVAILABLE',
      `The database ${service} did not accept its credential (${code}).`,
      { hint: 'An admin may have to set the credential again.' },
    ),
  timedOut: (code: string) =>
    new AppError(
      'UNAVAILABLE',
      `${code}: The statement was stopped after ${postgresLimits.statementMs / 1_000} s.`,
      { hint: 'Request less, or check the plan with EXPLAIN.' },
    ),
  readOnly: (code: string, message: string) =>
    new AppError('VALIDATION', `${code}: This tool only reads: ${message}.`, { hint: executeHint }),
  /** @param text severity, code and message of PostgreSQL */
  statement: (isTemporary: boolean, text: string, hint: string) =>
    new AppError(isTemporary ? 'UNAVAILABLE' : 'VALIDATION', text, { hint }),
  notReading: (allowed: readonly string[]) =>
    new AppError('VALIDATION', `This tool runs ${allowed.join(', ').toUpperCase()} only.`, {
      hint: executeHint,
    }),
  notWriting: (word: string) =>
    new AppError(
      'VALIDATION',
      word === ''
        ? 'The statement is empty.'
        : `This tool does not run ${word.toUpperCase()} statements.`,
      { hint: 'Each call runs one statement in its own transaction, which the hub manages.' },
    ),
  resultTooLarge: () =>
    new AppError(
      'TOO_LARGE',
      `The result is larger than ${postgresLimits.receivedBytesMax / 1024 / 1024} MiB, so the transaction was rolled back.`,
      { hint: 'Request fewer rows or columns, or shorten long values with left().' },
    ),
}
