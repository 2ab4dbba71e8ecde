import type { Hono } from 'hono'
import { requireAdmin, requireViewer, toActor } from '../../hub/http/authenticate'
import type { HubEnv } from '../../hub/http/hub-env'
import { assignTask, taskInput } from '../../hub/tasks/actions'
import { taskErrors } from '../../hub/tasks/errors'
import { accountPath } from '../../shared/paths'
import { toProblem } from '../form/to-problem'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { TaskForm, type TaskFormValues } from './task-form'

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
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const field = await readForm(c)
  const values = { task: field('task'), model: field('model').trim() }
  try {
    await assignTask(c.var.context, toActor(viewer, null), name, parseInput(values))
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 400) throw error
    return showFormAgain(c, name, { ...values, problem }, status)
  }
  return c.redirect(accountPath(name), 303)
}

function parseInput({ task, model }: Omit<TaskFormValues, 'problem'>) {
  const parsed = taskInput.safeParse({ task, ...(model !== '' && { model }) })
  if (parsed.success) return parsed.data
  throw taskErrors.invalidInput(
    parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
  )
}

async function showFormAgain(
  c: PageContext,
  name: string,
  values: TaskFormValues,
  status: number,
): Promise<Response> {
  const { frame } = await readPage(c, {})
  return sendPage(
    c,
    <Layout frame={frame} title={`Assign a task to ${name}`}>
      <div class="head">
        <h1>Assign a task to {name}</h1>
      </div>
      <TaskForm name={name} typed={values} />
      <p>
        <a href={accountPath(name)}>Back to {name}</a>
      </p>
    </Layout>,
    status,
  )
}
