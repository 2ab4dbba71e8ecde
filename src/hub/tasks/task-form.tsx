import type { FC } from 'hono/jsx'
import { limits } from '../../config'
import type { FormProblem } from '../web/frame'
import { Problem } from '../web/problem'
import { accountPath } from '../web/who'

/** What was typed into the form, and why it could not be taken. */
export interface TypedTask {
  task: string
  model: string
  problem: FormProblem
}

/** Where an admin gives an agent a task that belongs to no thread. */
export const TaskForm: FC<{ name: string; typed?: TypedTask }> = ({ name, typed }) => (
  <details class="block" data-keep="task" {...(typed ? { open: true } : {})}>
    <summary>Give {name} a task</summary>
    <Problem problem={typed?.problem ?? null} />
    <form class="form up2" method="post" action={`${accountPath(name)}/activate`}>
      <label for="task">What should {name} do?</label>
      <textarea
        id="task"
        name="task"
        rows={4}
        required
        maxlength={limits.task.contentCharsMax}
        aria-describedby="task-note"
      >
        {typed?.task}
      </textarea>
      <label for="task-model">Model, for this task only</label>
      <input
        id="task-model"
        name="model"
        autocomplete="off"
        maxlength={200}
        placeholder="as in its definition"
        value={typed?.model}
      />
      <p class="meta" id="task-note">
        The answer comes to your <a href="/inbox">inbox</a>. Nobody else is told.
      </p>
      <div class="acts">
        <button type="submit" class="btn">
          Give the task
        </button>
      </div>
    </form>
  </details>
)
