import type { FC } from 'hono/jsx'
import type { FormProblem } from './form-state'

/** Shows what went wrong and what to do: above a form, which keeps what was typed, or on an error page. */
export const ErrorSummary: FC<{ problem: FormProblem | null }> = ({ problem }) =>
  problem && (
    <div class="wrong" role="alert">
      <strong>{problem.message}</strong>
      {problem.hint && <p>{problem.hint}</p>}
    </div>
  )
