import type { Hono } from 'hono'
import type { ActivationRow } from '../activations/page-queries'
import { requireAdmin, requireViewer } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { type PageContext, page, readPage, rowsOf, sendPage } from '../web/answer-page'
import { toProblem } from '../web/problem'
import { readForm } from '../web/read-form'
import { setLimits } from './actions'
import { BudgetsPage } from './budgets-page'
import { readLimit, type TypedLimit } from './limit-form'
import {
  budgetStatements,
  type PageBudget,
  selectUsageLines,
  type UsageLine,
  type UsageRow,
} from './page-queries'
import { writeUsageCsv } from './usage-csv'

/** `GET /budgets`, its forms' `POST /budgets/:id`, and `GET /budgets.csv`. */
export function registerBudgetPages(app: Hono<HubEnv>): void {
  app.get(
    '/budgets',
    page((c) => showBudgets(c, null)),
  )
  app.post('/budgets/:id', page(changeLimit))
  app.get(
    '/budgets.csv',
    page(async (c) => {
      const { db, clock } = c.var.context
      const read = await readPage(c, [selectUsageLines(db, clock.now())])
      return c.body(writeUsageCsv(rowsOf<UsageLine>(read, 0)), 200, {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="rookery-usage.csv"',
        'cache-control': 'private, no-cache',
        'x-content-type-options': 'nosniff',
      })
    }),
  )
}

/** Back to the budget; what is no amount is shown again, with what was typed. */
async function changeLimit(c: PageContext): Promise<Response> {
  const budgetId = c.req.param('id') ?? ''
  requireAdmin(await requireViewer(c, 'write'))
  const text = (await readForm(c))('limit_dollars')
  try {
    await setLimits(c.var.context, budgetId, { limit_microusd: readLimit(text) })
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    if (status !== 400) throw error
    return showBudgets(c, { budgetId, text, problem }, status)
  }
  return c.redirect(`/budgets#${encodeURIComponent(budgetId)}`, 303)
}

async function showBudgets(
  c: PageContext,
  typed: TypedLimit | null,
  status = 200,
): Promise<Response> {
  const { db, clock } = c.var.context
  const read = await readPage(c, budgetStatements(db, clock.now()))
  return sendPage(
    c,
    <BudgetsPage
      frame={read.frame}
      budgets={rowsOf<PageBudget>(read, 0)}
      byAgent={rowsOf<UsageRow>(read, 1)}
      byModel={rowsOf<UsageRow>(read, 2)}
      activations={rowsOf<ActivationRow>(read, 3)}
      typed={typed}
    />,
    status,
  )
}
