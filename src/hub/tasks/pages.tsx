import type { Hono } from 'hono'
import { AppError } from '../../errors'
import { requireAdmin, requireViewer, toActor } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { type PageContext, page, readPage, sendPage } from '../web/answer-page'
import { Layout } from '../web/layout'
import { toProblem } from '../web/problem'
import { readForm } from '../web/read-form'
import { accountPath } from '../web/who'
import { giveTask, taskInput } from './actions'
import { TaskForm, type TypedTask } from './task-form'

/** `POST /a/:name/activate`, the form of an agent's page. */
export function registerTaskPages(app: Hono<HubEnv>): void {
  app.post('/a/:name/activate', page(takeTask))
}

/** Back to the agent, which works by then; what cannot be taken is shown again as it was typed. */
async function takeTask(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const field = await readForm(c)
  const typed = { task: field('task'), model: field('model').trim() }
  try {
    await giveTask(c.var.context, toActor(viewer, null), name, readInput(typed))
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 400) throw error
    return showAgain(c, name, { ...typed, problem }, status)
  }
  return c.redirect(accountPath(name), 303)
}

function readInput({ task, model }: Omit<TypedTask, 'problem'>) {
  const parsed = taskInput.safeParse({ task, ...(model !== '' && { model }) })
  if (parsed.success) return parsed.data
  throw new AppError('VALIDATION', 'The task could not be taken.', {
    details: parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
  })
}

async function showAgain(
  c: PageContext,
  name: string,
  typed: TypedTask,
  status: number,
): Promise<Response> {
  const { frame } = await readPage(c, [])
  return sendPage(
    c,
    <Layout frame={frame} title={`A task for ${name}`}>
      <div class="head">
        <h1>A task for {name}</h1>
      </div>
      <TaskForm name={name} typed={typed} />
      <p>
        <a href={accountPath(name)}>Back to {name}</a>
      </p>
    </Layout>,
    status,
  )
}
