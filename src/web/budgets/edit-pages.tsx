import type { Hono } from 'hono'
import { changeBudget, createBudget, removeBudget } from '../../hub/budgets/actions'
import { budgetErrors } from '../../hub/budgets/errors'
import { type BudgetInput, budgetChange, budgetInput } from '../../hub/budgets/inputs'
import {
  type PageBudget,
  selectBudget,
  selectBudgets,
  selectScopeNames,
} from '../../hub/budgets/page-queries'
import { type HubEnv, readReader, requireAdminViewer, toAppError } from '../../hub/http/page-entry'
import type { Statements } from '../../shared/db/batch'
import { notFound } from '../../shared/errors'
import type { FormDefinition, FormProblem } from '../form/form-state'
import { createForm } from '../form/form-state'
import { markFields, readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { toProblem } from '../form/to-problem'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, type PageRead, page, readPage, sendPage } from '../frame/send-page'
import { DeleteBudgetPage, EditBudgetPage, NewBudgetPage } from './budget-edit-page'
import {
  type BudgetField,
  type BudgetFormState,
  budgetChangeForm,
  formatNameHint,
  newBudgetForm,
  newBudgetValues,
  toFormValues,
} from './form-values'

/** Registers the forms `/budgets/new`, `/budgets/:id` and `/budgets/:id/delete`. */
export function registerBudgetForms(app: Hono<HubEnv>): void {
  app.get(
    '/budgets/new',
    page((c) => showNewForm(c, createForm(newBudgetValues))),
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

const idOf = (c: PageContext): string => c.req.param('id') ?? ''

const redirectToBudget = (c: PageContext, id: string): Response =>
  c.redirect(`/budgets#${encodeURIComponent(id)}`, 303)

/** Shows the form of a new budget, with a link to `duplicate`, a budget for the same scope and period. */
async function showNewForm(
  c: PageContext,
  form: BudgetFormState,
  status = 200,
  duplicate: BudgetInput | null = null,
): Promise<Response> {
  const now = c.var.context.clock.now()
  const reader = await readReader(c)
  const { frame, answers } = await readAsAdmin(c, {
    names: selectScopeNames(now, reader),
    budgets: duplicate && selectBudgets({ now, reader }),
  })
  return sendPage(
    c,
    <NewBudgetPage
      frame={frame}
      form={form}
      names={answers.names}
      duplicate={duplicate && findDuplicate(answers.budgets ?? [], duplicate)}
    />,
    status,
  )
}

/** Returns the budget that an admin created for the same scope and period. */
function findDuplicate(budgets: PageBudget[], input: BudgetInput): PageBudget | null {
  const name = (input.name ?? '').toLowerCase()
  const isDuplicate = (budget: PageBudget) =>
    budget.madeBy === 'admin' &&
    budget.scope === input.scope &&
    budget.period === input.period &&
    toFormValues(budget).name.toLowerCase() === name
  return budgets.find(isDuplicate) ?? null
}

async function submitNew(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const read = readFormWith(budgetInput, await readForm(c), newBudgetForm)
  if (!read.isValid) return showNewForm(c, read.form, 400)
  const { form, value } = read
  try {
    const { answer } = await createBudget(c.var.context, await readFormActor(c, viewer), value)
    return redirectToBudget(c, answer.budget.id)
  } catch (error) {
    const { code, status, message } = toAppError(error)
    if (code === 'NOT_FOUND') {
      const errors = { name: `${message} ${formatNameHint(value.scope)}` }
      return showNewForm(c, markFields(newBudgetForm, form, errors), 400)
    }
    if (code !== 'CONFLICT') {
      const rejected = rejectLimits(newBudgetForm, form, error)
      return showNewForm(c, rejected.form, rejected.status)
    }
    const problem = { message, hint: 'Edit that budget, or choose another period.' }
    return showNewForm(c, { ...form, problem }, status, value)
  }
}

async function showEditForm(
  c: PageContext,
  submitted: BudgetFormState | null,
  status = 200,
): Promise<Response> {
  const now = c.var.context.clock.now()
  const reader = await readReader(c)
  const { frame, answers } = await readAsAdmin(c, {
    budget: selectBudget({ id: idOf(c), now, reader }),
  })
  const { budget } = answers
  if (!budget) throw notFound('budget')
  const form = submitted ?? createForm(toFormValues(budget))
  return sendPage(c, <EditBudgetPage frame={frame} budget={budget} form={form} />, status)
}

async function submitEdit(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const read = readFormWith(budgetChange, await readForm(c), budgetChangeForm)
  if (!read.isValid) return showEditForm(c, read.form, 400)
  try {
    const { budget } = await changeBudget(c.var.context, viewer.id, idOf(c), read.value)
    return redirectToBudget(c, budget.id)
  } catch (error) {
    const { form, status } = rejectLimits(budgetChangeForm, read.form, error)
    return showEditForm(c, form, status)
  }
}

/** Returns the form with the errors at the limits that are too high; throws any other error. */
function rejectLimits(
  definition: FormDefinition<BudgetField>,
  form: BudgetFormState,
  error: unknown,
) {
  const { code, details } = toAppError(error)
  if (code !== 'VALIDATION' || !details) throw error
  return rejectForm(definition, form, error)
}

async function showDeleteForm(
  c: PageContext,
  problem: FormProblem | null,
  status = 200,
): Promise<Response> {
  const now = c.var.context.clock.now()
  const reader = await readReader(c)
  const { frame, answers } = await readAsAdmin(c, {
    budget: selectBudget({ id: idOf(c), now, reader }),
    budgets: selectBudgets({ now, reader }),
  })
  const { budget, budgets } = answers
  if (!budget) throw notFound('budget')
  const props = { frame, budget, budgets, problem }
  return sendPage(c, <DeleteBudgetPage {...props} />, status)
}

async function submitDelete(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  try {
    await removeBudget(c.var.context, viewer.id, idOf(c))
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 409) throw error
    return showDeleteForm(c, problem, status)
  }
  return c.redirect('/budgets', 303)
}
