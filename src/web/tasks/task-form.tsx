import type { FC } from 'hono/jsx'
import { limits } from '../../shared/config'
import { accountPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'

type TaskField = 'task' | 'model'
export type TaskFormState = FormState<TaskField>

export const taskForm: FormDefinition<TaskField> = {
  rejected: 'The task was not saved.',
  fields: {
    task: { message: describeText('The task', limits.task.contentCharsMax) },
    model: {
      parse: (text) => text.trim() || undefined,
      message: 'Enter a model as provider/model, such as openai/gpt-6-sol.',
    },
  },
}

const emptyForm = createForm<TaskField>({ task: '', model: '' })

/** The form that assigns a task outside any thread to an agent; open when it was submitted. */
export const TaskForm: FC<{ name: string; submitted?: TaskFormState }> = ({ name, submitted }) => {
  const form = submitted ?? emptyForm
  return (
    <details class="block" data-keep="task" {...(submitted ? { open: true } : {})}>
      <summary>Assign a task to {name}</summary>
      <ErrorSummary problem={form.problem} />
      <form class="form up2" method="post" action={`${accountPath(name)}/activate`}>
        <FormKey />
        <Field
          form={form}
          as="textarea"
          name="task"
          label="Task"
          describedBy="task-reply"
          isBare
          rows={4}
          required
          maxlength={limits.task.contentCharsMax}
        />
        <Field
          form={form}
          name="model"
          id="task-model"
          label="Model for this task"
          isBare
          autocomplete="off"
          maxlength={200}
          placeholder="Default from the definition"
        />
        <p class="meta" id="task-reply">
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
}
