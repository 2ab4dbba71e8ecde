import { assignErrors } from './assign-errors'
import type { FormDefinition, FormState } from './form-state'
import { formatMarkedHint } from './read-form-with'
import { toPageError, toProblem } from './to-problem'

/** Returns the form with the error of its action: at the fields that its details name, else above the form. */
export function rejectForm<Name extends string>(
  definition: FormDefinition<Name>,
  { typed }: FormState<Name>,
  error: unknown,
): { form: FormState<Name>; status: number } {
  const { status, ...problem } = toProblem(error)
  const { details = [], message, hint } = toPageError(error)
  const { errors, other } = assignErrors(definition, typed, details, 'action')
  if (other.length > 0 || Object.keys(errors).length === 0) {
    return { form: { typed, errors, problem }, status }
  }
  const marked = { message, hint: hint ?? formatMarkedHint(errors) }
  return { form: { typed, errors, problem: marked }, status }
}
