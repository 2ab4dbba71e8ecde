import type { Hono } from 'hono'
import { AppError, notFound } from '../../errors'
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

/** `/budgets/new`, `/budgets/:id` and `/budgets/:id/delete`: the way of a person, beside the API. */
export function registerBudgetForms(app: Hono<HubEnv>): void {
  app.get(
    '/budgets/new',
    page((c) => showNew(c, untried(freshBudget))),
  )
  app.post('/budgets/new', page(makeOne))
  app.get(
    '/budgets/:id',
    page((c) => showOne(c, null)),
  )
  app.post('/budgets/:id', page(changeOne))
  app.get(
    '/budgets/:id/delete',
    page((c) => showRemoval(c, null)),
  )
  app.post('/budgets/:id/delete', page(removeOne))
}

const untried = (typed: TypedBudget): BudgetTry => ({ typed, problems: {}, problem: null })

async function readAsAdmin(c: PageContext, statements: D1PreparedStatement[]): Promise<PageRead> {
  const read = await readPage(c, statements)
  const { viewer } = read.frame
  if (!viewer) throw new AppError('UNAUTHORIZED', 'Sign in to change budgets.')
  if (viewer.isAdmin) return read
  throw new AppError('FORBIDDEN', 'Only an admin may change budgets.', {
    hint: 'What they are is at /budgets.',
  })
}

/** The form of an admin, as it was typed. */
async function readTyped(c: PageContext): Promise<{ viewer: Viewer; typed: TypedBudget }> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const field = await readForm(c)
  const typed = Object.fromEntries(budgetFields.map((name) => [name, field(name)])) as TypedBudget
  return { viewer, typed }
}

const idOf = (c: PageContext): string => c.req.param('id') ?? ''

const toBudget = (c: PageContext, id: string): Response =>
  c.redirect(`/budgets#${encodeURIComponent(id)}`, 303)

async function showNew(c: PageContext, attempt: BudgetTry, status = 200): Promise<Response> {
  const { db, clock } = c.var.context
  const now = clock.now()
  const isTaken = status === 409
  const read = await readAsAdmin(c, [
    selectScopeNames(db, now),
    ...(isTaken ? [selectBudgets(db, now)] : []),
  ])
  return sendPage(
    c,
    <NewBudgetPage
      frame={read.frame}
      attempt={attempt}
      names={rowsOf<ScopeName>(read, 0)}
      twin={isTaken ? findTwin(rowsOf<PageBudget>(read, 1), attempt.typed) : null}
    />,
    status,
  )
}

/** The one that an admin made for the same scope and period. */
function findTwin(budgets: PageBudget[], typed: TypedBudget): PageBudget | null {
  const { body } = readNewBudget(typed)
  const name = (body?.name ?? '').toLowerCase()
  const isTwin = (each: PageBudget) =>
    each.madeBy === 'admin' && each.scope === body?.scope && each.period === body.period
  return (
    budgets.find((each) => isTwin(each) && typeBudget(each).name.toLowerCase() === name) ?? null
  )
}

async function makeOne(c: PageContext): Promise<Response> {
  const { viewer, typed } = await readTyped(c)
  const { body, problems } = readNewBudget(typed)
  if (!body) return showNew(c, { typed, problems, problem: null }, 400)
  try {
    const { answer } = await createBudget(c.var.context, toActor(viewer, null), body)
    return toBudget(c, answer.budget.id)
  } catch (error) {
    const { code, status, message } = toAppError(error)
    if (code === 'NOT_FOUND') {
      const problems = { name: `${message} ${sayWrong('name', typed)}` }
      return showNew(c, { typed, problems, problem: null }, 400)
    }
    if (code !== 'CONFLICT') throw error
    const problem = { message, hint: 'Change that one, or choose another period.' }
    return showNew(c, { typed, problems: {}, problem }, status)
  }
}

async function showOne(c: PageContext, tried: BudgetTry | null, status = 200): Promise<Response> {
  const { db, clock } = c.var.context
  const read = await readAsAdmin(c, [selectBudget(db, idOf(c), clock.now())])
  const [budget] = rowsOf<PageBudget>(read, 0)
  if (!budget) throw notFound('budget')
  const attempt = tried ?? untried(typeBudget(budget))
  return sendPage(
    c,
    <EditBudgetPage frame={read.frame} budget={budget} attempt={attempt} />,
    status,
  )
}

async function changeOne(c: PageContext): Promise<Response> {
  const { typed } = await readTyped(c)
  const { body, problems } = readBudgetChange(typed)
  if (!body) return showOne(c, { typed, problems, problem: null }, 400)
  return toBudget(c, (await changeBudget(c.var.context, idOf(c), body)).id)
}

async function showRemoval(
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

async function removeOne(c: PageContext): Promise<Response> {
  requireAdmin(await requireViewer(c, 'write'))
  try {
    await removeBudget(c.var.context, idOf(c))
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 409) throw error
    return showRemoval(c, problem, status)
  }
  return c.redirect('/budgets', 303)
}
