import type { FC } from 'hono/jsx'
import { limits } from '../../shared/config'
import { accountPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../frame/frame'

/** Values of the form, and why they were rejected. */
export interface TaskFormValues {
  task: string
  model: string
  problem: FormProblem
}

/** The form that assigns a task outside any thread to an agent. */
export const TaskForm: FC<{ name: string; typed?: TaskFormValues }> = ({ name, typed: values }) => (
  <details class="block" data-keep="task" {...(values ? { open: true } : {})}>
    <summary>Assign a task to {name}</summary>
    <ErrorSummary problem={values?.problem ?? null} />
    <form class="form up2" method="post" action={`${accountPath(name)}/activate`}>
      <label for="task">Task</label>
      <textarea
        id="task"
        name="task"
        rows={4}
        required
        maxlength={limits.task.contentCharsMax}
        aria-describedby="task-note"
      >
        {values?.task}
      </textarea>
      <label for="task-model">Model for this task</label>
      <input
        id="task-model"
        name="model"
        autocomplete="off"
        maxlength={200}
        placeholder="Default from the definition"
        value={values?.model}
      />
      <p class="meta" id="task-note">
        The reply arrives in your <a href="/inbox">inbox</a>. Nobody else is notified.
      </p>
      <div class="acts">
        <button type="submit" class="btn">
          Assign task
        </button>
      </div>
    </form>
  </details>
)
