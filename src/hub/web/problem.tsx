import type { FC } from 'hono/jsx'
import { toAppError } from '../http/errors'
import type { FormProblem } from './frame'

/** What a form could not be taken for, above the form, which keeps what was typed. */
export const Problem: FC<{ problem: FormProblem | null }> = ({ problem }) =>
  problem && (
    <div class="wrong" role="alert">
      <strong>{problem.message}</strong>
      {problem.hint && <p>{problem.hint}</p>}
    </div>
  )

/** An error as the problem of a form, its details in words. */
export function toProblem(error: unknown): FormProblem & { status: number } {
  const known = toAppError(error)
  if (known.code === 'UNAUTHORIZED') {
    return {
      message: 'You are not signed in any more.',
      hint: 'Sign in in another tab, then send this again: your text is still here.',
      status: known.status,
    }
  }
  const details = (known.details ?? []).map(
    ({ path, message }) => `${path.replace(/^body\./, '')}: ${message}`,
  )
  const hint = details.length > 0 ? details.join('; ') : known.hint
  return { message: known.message, hint, status: known.status }
}
