import type { Hono } from 'hono'
import type { ActivationRow } from '../activations/page-queries'
import { requireAdmin, requireViewer } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { type PageContext, page, readPage, rowsOf, sendPage } from '../web/answer-page'
import { toProblem } from '../web/problem'
import { readForm } from '../web/read-form'
import { changeBudget } from './actions'
import { selectBudgets } from './api-queries'
import { BudgetsPage } from './budgets-page'
import { composeChart } from './chart-data'
import { readLimit, type TypedLimit } from './limit-form'
import type { PageBudget } from './page-queries'
import { forecastBudgets } from './present'
import { writeUsageCsv } from './usage-csv'
import {
  type BudgetDay,
  type SeriesDay,
  selectBudgetDays,
  selectLastActivations,
  type UsageSeries,
  type UsageTotal,
  usageViewStatements,
} from './usage-queries'
import { readUsageView, writeDay } from './usage-view'

/** `GET /budgets`, its forms' `POST /budgets/:id`, and `GET /budgets.csv`. */
export function registerBudgetPages(app: Hono<HubEnv>): void {
  app.get(
    '/budgets',
    page((c) => showBudgets(c, null)),
  )
  app.post('/budgets/:id', page(changeLimit))
  app.get('/budgets.csv', page(downloadUsage))
}

/** What the page draws with the same query, to the last number. */
async function downloadUsage(c: PageContext): Promise<Response> {
  const { db, clock } = c.var.context
  const view = readUsageView((name) => c.req.query(name), clock.now())
  const read = await readPage(c, usageViewStatements(db, view))
  const chart = composeChart(view, rowsOf<UsageSeries>(read, 0), rowsOf<SeriesDay>(read, 2))
  const name = `rookery-usage-by-${view.by}-${writeDay(view.fromDay)}-${writeDay(view.toDay - 1)}.csv`
  return c.body(writeUsageCsv(view, chart), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
  })
}

/** Back to the budget; what is no amount is shown again, with what was typed. */
async function changeLimit(c: PageContext): Promise<Response> {
  const budgetId = c.req.param('id') ?? ''
  requireAdmin(await requireViewer(c, 'write'))
  const text = (await readForm(c))('limit_dollars')
  try {
    await changeBudget(c.var.context, budgetId, { limit_microusd: readLimit(text) })
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
  const now = clock.now()
  const view = readUsageView((name) => c.req.query(name), now)
  const read = await readPage(c, [
    ...usageViewStatements(db, view),
    selectBudgets(db, now),
    selectBudgetDays(db, now),
    selectLastActivations(db),
  ])
  const budgets = rowsOf<PageBudget>(read, 3)
  return sendPage(
    c,
    <BudgetsPage
      frame={read.frame}
      view={view}
      rows={rowsOf<UsageSeries>(read, 0)}
      total={rowsOf<UsageTotal>(read, 1)[0] as UsageTotal}
      days={rowsOf<SeriesDay>(read, 2)}
      budgets={budgets}
      forecasts={forecastBudgets(budgets, rowsOf<BudgetDay>(read, 4), now)}
      activations={rowsOf<ActivationRow>(read, 5)}
      typed={typed}
    />,
    status,
  )
}
