import type { Hono } from 'hono'
import { notFound } from '../../errors'
import { requireAdmin, requireViewer, toActor } from '../http/authenticate'
import { toAppError } from '../http/errors'
import type { HubEnv } from '../http/hub-env'
import type { Viewer } from '../keys/queries'
import {
  type PageContext,
  type PageRead,
  page,
  readPage,
  rowsOf,
  sendPage,
} from '../web/answer-page'
import type { FormProblem } from '../web/frame'
import { toProblem } from '../web/problem'
import { readForm } from '../web/read-form'
import { changeBudget, createBudget, removeBudget } from './actions'
import { selectBudget, selectBudgets } from './api-queries'
import { type BudgetTry, EditBudgetPage, NewBudgetPage, RemoveBudgetPage } from './budget-edit-page'
import type { ScopeName } from './budget-form'
import { budgetErrors } from './errors'
import { type PageBudget, selectScopeNames } from './page-queries'
import {
  budgetFields,
  freshBudget,
  readBudgetChange,
  readNewBudget,
  sayWrong,
  type TypedBudget,
  typeBudget,
} from './typed-budget'

/** Registers the forms `/budgets/new`, `/budgets/:id` and `/budgets/:id/delete`. */
export function registerBudgetForms(app: Hono<HubEnv>): void {
  app.get(
    '/budgets/new',
    page((c) => showNewForm(c, toAttempt(freshBudget))),
  )
  app.post('/budgets/new', page(submitNew))
  app.get(
    '/budgets/:id',
    page((c) => showEditForm(c, null)),
  )
  app.post('/budgets/:id', page(submitEdit))
  app.get(
    '/budgets/:id/delete',
    page((c) => showDeleteForm(c, null)),
  )
  app.post('/budgets/:id/delete', page(submitDelete))
}

const toAttempt = (typed: TypedBudget): BudgetTry => ({ typed, problems: {}, problem: null })

async function readAsAdmin(c: PageContext, statements: D1PreparedStatement[]): Promise<PageRead> {
  const read = await readPage(c, statements)
  const { viewer } = read.frame
  if (!viewer) throw budgetErrors.signIn()
  if (viewer.isAdmin) return read
  throw budgetErrors.adminOnly()
}

/** Returns the form values that an admin submitted. */
async function readValues(c: PageContext): Promise<{ viewer: Viewer; typed: TypedBudget }> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const field = await readForm(c)
  const typed = Object.fromEntries(budgetFields.map((name) => [name, field(name)])) as TypedBudget
  return { viewer, typed }
}

const idOf = (c: PageContext): string => c.req.param('id') ?? ''

const redirectToBudget = (c: PageContext, id: string): Response =>
  c.redirect(`/budgets#${encodeURIComponent(id)}`, 303)

async function showNewForm(c: PageContext, attempt: BudgetTry, status = 200): Promise<Response> {
  const { db, clock } = c.var.context
  const now = clock.now()
  const hasDuplicate = status === 409
  const read = await readAsAdmin(c, [
    selectScopeNames(db, now),
    ...(hasDuplicate ? [selectBudgets(db, now)] : []),
  ])
  return sendPage(
    c,
    <NewBudgetPage
      frame={read.frame}
      attempt={attempt}
      names={rowsOf<ScopeName>(read, 0)}
      duplicate={hasDuplicate ? findDuplicate(rowsOf<PageBudget>(read, 1), attempt.typed) : null}
    />,
    status,
  )
}

/** Returns the budget that an admin created for the same scope and period. */
function findDuplicate(budgets: PageBudget[], typed: TypedBudget): PageBudget | null {
  const { body } = readNewBudget(typed)
  const name = (body?.name ?? '').toLowerCase()
  const isDuplicate = (budget: PageBudget) =>
    budget.madeBy === 'admin' &&
    budget.scope === body?.scope &&
    budget.period === body.period &&
    typeBudget(budget).name.toLowerCase() === name
  return budgets.find(isDuplicate) ?? null
}

async function submitNew(c: PageContext): Promise<Response> {
  const { viewer, typed } = await readValues(c)
  const { body, problems } = readNewBudget(typed)
  if (!body) return showNewForm(c, { typed, problems, problem: null }, 400)
  try {
    const { answer } = await createBudget(c.var.context, toActor(viewer, null), body)
    return redirectToBudget(c, answer.budget.id)
  } catch (error) {
    const { code, status, message } = toAppError(error)
    if (code === 'NOT_FOUND') {
      const problems = { name: `${message} ${sayWrong('name', typed)}` }
      return showNewForm(c, { typed, problems, problem: null }, 400)
    }
    if (code !== 'CONFLICT') throw error
    const problem = { message, hint: 'Edit that budget, or choose another period.' }
    return showNewForm(c, { typed, problems: {}, problem }, status)
  }
}

async function showEditForm(
  c: PageContext,
  submitted: BudgetTry | null,
  status = 200,
): Promise<Response> {
  const { db, clock } = c.var.context
  const read = await readAsAdmin(c, [selectBudget(db, idOf(c), clock.now())])
  const [budget] = rowsOf<PageBudget>(read, 0)
  if (!budget) throw notFound('budget')
  const attempt = submitted ?? toAttempt(typeBudget(budget))
  return sendPage(
    c,
    <EditBudgetPage frame={read.frame} budget={budget} attempt={attempt} />,
    status,
  )
}

async function submitEdit(c: PageContext): Promise<Response> {
  const { typed } = await readValues(c)
  const { body, problems } = readBudgetChange(typed)
  if (!body) return showEditForm(c, { typed, problems, problem: null }, 400)
  return redirectToBudget(c, (await changeBudget(c.var.context, idOf(c), body)).id)
}

async function showDeleteForm(
  c: PageContext,
  problem: FormProblem | null,
  status = 200,
): Promise<Response> {
  const { db, clock } = c.var.context
  const now = clock.now()
  const read = await readAsAdmin(c, [selectBudget(db, idOf(c), now), selectBudgets(db, now)])
  const [budget] = rowsOf<PageBudget>(read, 0)
  if (!budget) throw notFound('budget')
  const props = { frame: read.frame, budget, budgets: rowsOf<PageBudget>(read, 1), problem }
  return sendPage(c, <RemoveBudgetPage {...props} />, status)
}

async function submitDelete(c: PageContext): Promise<Response> {
  requireAdmin(await requireViewer(c, 'write'))
  try {
    await removeBudget(c.var.context, idOf(c))
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 409) throw error
    return showDeleteForm(c, problem, status)
  }
  return c.redirect('/budgets', 303)
}
