import type { Hono } from 'hono'
import { selectLatestActivations } from '../../hub/activations/page-queries'
import { selectBudgets } from '../../hub/budgets/page-queries'
import { usageViewStatements } from '../../hub/budgets/usage-queries'
import { formatIsoDay, parseUsageView } from '../../hub/budgets/usage-view'
import { type HubEnv, readReader } from '../../hub/http/page-entry'
import { sendCsv } from '../frame/send-csv'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
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
  const view = parseUsageView((name) => c.req.query(name), c.var.context.clock.now())
  const { answers } = await readPage(c, usageViewStatements(view, await readReader(c)))
  const chart = composeChart(view, answers.series, answers.days)
  const name = `rookery-usage-by-${view.by}-${formatIsoDay(view.fromDay)}-${formatIsoDay(view.toDay - 1)}.csv`
  return sendCsv(c, name, formatUsageCsv(view, chart))
}

async function showBudgets(c: PageContext): Promise<Response> {
  const now = c.var.context.clock.now()
  const view = parseUsageView((name) => c.req.query(name), now)
  const reader = await readReader(c)
  const { frame, answers } = await readPage(c, {
    ...usageViewStatements(view, reader),
    budgets: selectBudgets({ now, reader }),
    activations: selectLatestActivations({ reader }),
  })
  return sendPage(c, <BudgetsPage frame={frame} view={view} {...answers} />)
}
