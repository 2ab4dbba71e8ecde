import { toAppError } from '../../hub/http/page-entry'
import type { FormProblem } from './form-state'

/** Converts an error to the problem of a form, with its details as the hint. */
export function toProblem(error: unknown): FormProblem & { status: number } {
  const appError = toAppError(error)
  if (appError.code === 'UNAUTHORIZED') {
    return {
      message: 'Your session has ended.',
      hint: 'Sign in in another tab, then submit this form again. Your text is still here.',
      status: appError.status,
    }
  }
  const details = (appError.details ?? []).map(
    ({ path, message }) => `${path.replace(/^body\./, '')}: ${message}`,
  )
  const hint = details.length > 0 ? details.join('; ') : appError.hint
  return { message: appError.message, hint, status: appError.status }
}
