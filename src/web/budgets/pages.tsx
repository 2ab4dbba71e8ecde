import type { Hono } from 'hono'
import type { ActivationRow } from '../../hub/activations/page-queries'
import { selectBudgets } from '../../hub/budgets/api-queries'
import type { PageBudget } from '../../hub/budgets/page-queries'
import { forecastBudgets } from '../../hub/budgets/present'
import {
  type BudgetDay,
  type SeriesDay,
  selectBudgetDays,
  selectLatestActivations,
  type UsageSeries,
  type UsageTotal,
  usageViewStatements,
} from '../../hub/budgets/usage-queries'
import { formatIsoDay, parseUsageView } from '../../hub/budgets/usage-view'
import type { HubEnv } from '../../hub/http/hub-env'
import { type PageContext, page, readPage, rowsOf, sendPage } from '../frame/send-page'
import { BudgetsPage } from './budgets-page'
import { composeChart } from './chart-data'
import { registerBudgetForms } from './edit-pages'
import { formatUsageCsv } from './usage-csv'

/** Registers `GET /budgets`, `GET /budgets.csv` and the forms of budgets. */
export function registerBudgetPages(app: Hono<HubEnv>): void {
  app.get('/budgets', page(showBudgets))
  app.get('/budgets.csv', page(downloadUsage))
  registerBudgetForms(app)
}

/** Returns the numbers that the page shows for the same query, as CSV. */
async function downloadUsage(c: PageContext): Promise<Response> {
  const { db, clock } = c.var.context
  const view = parseUsageView((name) => c.req.query(name), clock.now())
  const read = await readPage(c, usageViewStatements(db, view))
  const chart = composeChart(view, rowsOf<UsageSeries>(read, 0), rowsOf<SeriesDay>(read, 2))
  const name = `rookery-usage-by-${view.by}-${formatIsoDay(view.fromDay)}-${formatIsoDay(view.toDay - 1)}.csv`
  return c.body(formatUsageCsv(view, chart), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
  })
}

async function showBudgets(c: PageContext): Promise<Response> {
  const { db, clock } = c.var.context
  const now = clock.now()
  const view = parseUsageView((name) => c.req.query(name), now)
  const read = await readPage(c, [
    ...usageViewStatements(db, view),
    selectBudgets(db, now),
    selectBudgetDays(db, now),
    selectLatestActivations(db),
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
    />,
  )
}
