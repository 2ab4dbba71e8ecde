import type { Hono } from 'hono'
import { changeBudget, createBudget, removeBudget } from '../../hub/budgets/actions'
import { budgetErrors } from '../../hub/budgets/errors'
import {
  type PageBudget,
  selectBudget,
  selectBudgets,
  selectScopeNames,
} from '../../hub/budgets/page-queries'
import { requireAdmin, requireViewer, toActor } from '../../hub/http/authenticate'
import { toAppError } from '../../hub/http/errors'
import type { HubEnv } from '../../hub/http/hub-env'
import type { Viewer } from '../../hub/keys/queries'
import type { Statements } from '../../shared/db/batch'
import { notFound } from '../../shared/errors'
import { toProblem } from '../form/to-problem'
import type { FormProblem } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { type PageContext, type PageRead, page, readPage, sendPage } from '../frame/send-page'
import {
  type BudgetSubmission,
  DeleteBudgetPage,
  EditBudgetPage,
  NewBudgetPage,
} from './budget-edit-page'
import {
  type BudgetFormValues,
  budgetFields,
  formatFieldError,
  newBudgetValues,
  parseBudgetChange,
  parseNewBudget,
  toFormValues,
} from './form-values'

/** Registers the forms `/budgets/new`, `/budgets/:id` and `/budgets/:id/delete`. */
export function registerBudgetForms(app: Hono<HubEnv>): void {
  app.get(
    '/budgets/new',
    page((c) => showNewForm(c, toAttempt(newBudgetValues))),
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

const toAttempt = (typed: BudgetFormValues): BudgetSubmission => ({
  values: typed,
  fieldErrors: {},
  problem: null,
})

async function readAsAdmin<Batch extends Statements>(
  c: PageContext,
  statements: Batch,
): Promise<PageRead<Batch>> {
  const read = await readPage(c, statements)
  const { viewer } = read.frame
  if (!viewer) throw budgetErrors.signIn()
  if (viewer.isAdmin) return read
  throw budgetErrors.adminOnly()
}

/** Returns the form values that an admin submitted. */
async function readValues(c: PageContext): Promise<{ viewer: Viewer; typed: BudgetFormValues }> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const field = await readForm(c)
  const typed = Object.fromEntries(
    budgetFields.map((name) => [name, field(name)]),
  ) as BudgetFormValues
  return { viewer, typed }
}

const idOf = (c: PageContext): string => c.req.param('id') ?? ''

const redirectToBudget = (c: PageContext, id: string): Response =>
  c.redirect(`/budgets#${encodeURIComponent(id)}`, 303)

async function showNewForm(
  c: PageContext,
  attempt: BudgetSubmission,
  status = 200,
): Promise<Response> {
  const now = c.var.context.clock.now()
  const { frame, answers } = await readAsAdmin(c, {
    names: selectScopeNames(now),
    budgets: status === 409 ? selectBudgets({ now }) : null,
  })
  return sendPage(
    c,
    <NewBudgetPage
      frame={frame}
      attempt={attempt}
      names={answers.names}
      duplicate={findDuplicate(answers.budgets ?? [], attempt.values)}
    />,
    status,
  )
}

/** Returns the budget that an admin created for the same scope and period. */
function findDuplicate(budgets: PageBudget[], typed: BudgetFormValues): PageBudget | null {
  const { body } = parseNewBudget(typed)
  const name = (body?.name ?? '').toLowerCase()
  const isDuplicate = (budget: PageBudget) =>
    budget.madeBy === 'admin' &&
    budget.scope === body?.scope &&
    budget.period === body.period &&
    toFormValues(budget).name.toLowerCase() === name
  return budgets.find(isDuplicate) ?? null
}

async function submitNew(c: PageContext): Promise<Response> {
  const { viewer, typed } = await readValues(c)
  const { body, problems } = parseNewBudget(typed)
  if (!body) return showNewForm(c, { values: typed, fieldErrors: problems, problem: null }, 400)
  try {
    const { answer } = await createBudget(c.var.context, toActor(viewer, null), body)
    return redirectToBudget(c, answer.budget.id)
  } catch (error) {
    const { code, status, message } = toAppError(error)
    if (code === 'NOT_FOUND') {
      const problems = { name: `${message} ${formatFieldError('name', typed)}` }
      return showNewForm(c, { values: typed, fieldErrors: problems, problem: null }, 400)
    }
    if (code !== 'CONFLICT') throw error
    const problem = { message, hint: 'Edit that budget, or choose another period.' }
    return showNewForm(c, { values: typed, fieldErrors: {}, problem }, status)
  }
}

async function showEditForm(
  c: PageContext,
  submitted: BudgetSubmission | null,
  status = 200,
): Promise<Response> {
  const now = c.var.context.clock.now()
  const { frame, answers } = await readAsAdmin(c, { budget: selectBudget({ id: idOf(c), now }) })
  const { budget } = answers
  if (!budget) throw notFound('budget')
  const attempt = submitted ?? toAttempt(toFormValues(budget))
  return sendPage(c, <EditBudgetPage frame={frame} budget={budget} attempt={attempt} />, status)
}

async function submitEdit(c: PageContext): Promise<Response> {
  const { typed } = await readValues(c)
  const { body, problems } = parseBudgetChange(typed)
  if (!body) return showEditForm(c, { values: typed, fieldErrors: problems, problem: null }, 400)
  return redirectToBudget(c, (await changeBudget(c.var.context, idOf(c), body)).id)
}

async function showDeleteForm(
  c: PageContext,
  problem: FormProblem | null,
  status = 200,
): Promise<Response> {
  const now = c.var.context.clock.now()
  const { frame, answers } = await readAsAdmin(c, {
    budget: selectBudget({ id: idOf(c), now }),
    budgets: selectBudgets({ now }),
  })
  const { budget, budgets } = answers
  if (!budget) throw notFound('budget')
  const props = { frame, budget, budgets, problem }
  return sendPage(c, <DeleteBudgetPage {...props} />, status)
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
