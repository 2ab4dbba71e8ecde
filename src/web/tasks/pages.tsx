import type { Hono } from 'hono'
import { type HubEnv, requireAdminViewer } from '../../hub/http/page-entry'
import { assignTask, taskInput } from '../../hub/tasks/actions'
import { accountPath } from '../../shared/paths'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { Layout } from '../frame/layout'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { TaskForm, type TaskFormState, taskForm } from './task-form'

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
