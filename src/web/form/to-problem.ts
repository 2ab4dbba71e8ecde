import { toAppError } from '../../hub/http/page-entry'
import { DatabaseFault } from '../../shared/db/database-fault'
import { AppError } from '../../shared/errors'
import type { FormProblem } from './form-state'

/** A form whose answer showed a secret, which is not stored, is sent again. */
const alreadySent = () =>
  new AppError(
    'IDEMPOTENCY_CONFLICT',
    'This form was already sent, and what it asks for was created once.',
    {
      hint: 'Its secret is shown only in the first answer. If you did not see it, delete what was created and send the form again.',
    },
  )

/** Returns an error as pages show it: what the API says of keys of requests is said of forms. */
export function toPageError(error: unknown): AppError {
  const appError = toAppError(error)
  return appError.code === 'IDEMPOTENCY_CONFLICT' ? alreadySent() : appError
}

/**
 * Converts an error to the problem of a form, with its details as the hint.
 *
 * @param labels what the page calls the fields that the details name
 * @throws DatabaseFault as it is: the page of the form cannot be read then, and the page of the error keeps
 * what was typed
 */
export function toProblem(
  error: unknown,
  labels: Readonly<Record<string, string>> = {},
): FormProblem & { status: number } {
  if (error instanceof DatabaseFault) throw error
  const appError = toPageError(error)
  if (appError.code === 'UNAUTHORIZED') {
    return {
      message: 'Your session has ended.',
      hint: 'Sign in in another tab, then submit this form again. Your text is still here.',
      status: appError.status,
    }
  }
  const details = (appError.details ?? []).map(({ path, message }) => {
    const field = path.replace(/^body\./, '')
    return `${Object.hasOwn(labels, field) ? labels[field] : field}: ${message}`
  })
  const hint = details.length > 0 ? details.join('; ') : appError.hint
  return { message: appError.message, hint, status: appError.status }
}
