import { toAppError } from '../../hub/http/page-entry'
import { DatabaseFault } from '../../shared/db/database-fault'
import type { FormProblem } from './form-state'

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
  const appError = toAppError(error)
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
