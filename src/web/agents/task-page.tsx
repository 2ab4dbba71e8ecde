import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, requireAdminViewer } from '../../hub/http/page-entry'
import { assignTask, taskInput } from '../../hub/scheduling/task-actions'
import { limits } from '../../shared/config'
import { accountPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import { Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'

/** Registers `POST /a/:name/activate`, the task form of an agent's page. */
export function registerTaskPages(app: Hono<HubEnv>): void {
  app.post('/a/:name/activate', page(handleTaskForm))
}

/**
 * Assigns the task and redirects to the agent's page; on invalid input shows the form again with its
 * values.
 */
async function handleTaskForm(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const viewer = await requireAdminViewer(c)
  const read = readFormWith(taskInput, await readForm(c), taskForm)
  if (!read.isValid) return showFormAgain(c, name, read.form, 400)
  try {
    await assignTask(c.var.context, await readFormActor(c, viewer), name, read.value)
  } catch (error) {
    const { form, status } = rejectForm(taskForm, read.form, error)
    if (status !== 400) throw error
    return showFormAgain(c, name, form, status)
  }
  return c.redirect(accountPath(name), 303)
}

async function showFormAgain(
  c: PageContext,
  name: string,
  submitted: TaskFormState,
  status: number,
): Promise<Response> {
  const { frame } = await readPage(c, {})
  return sendPage(
    c,
    <Layout frame={frame} title={`Assign a task to ${name}`}>
      <div class="head">
        <h1>Assign a task to {name}</h1>
      </div>
      <TaskForm name={name} submitted={submitted} />
      <p>
        <a href={accountPath(name)}>Back to {name}</a>
      </p>
    </Layout>,
    status,
  )
}

type TaskField = 'task' | 'model'
type TaskFormState = FormState<TaskField>

const taskForm: FormDefinition<TaskField> = {
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
          <Submit>Assign task</Submit>
        </div>
      </form>
    </details>
  )
}
