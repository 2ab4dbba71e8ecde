import type { Hono } from 'hono'
import { selectLatestActivations } from '../../hub/activations/page-queries'
import { archiveName, readRecords, toArchiveView } from '../../hub/archive/archive-view'
import { selectFiles } from '../../hub/archive/queries'
import { selectArchivedCalls } from '../../hub/budgets/archived-call-queries'
import { selectBudgets } from '../../hub/budgets/page-queries'
import { selectRequesterLines } from '../../hub/budgets/requester-queries'
import { toRequesterSpending } from '../../hub/budgets/requester-view'
import { usageViewStatements } from '../../hub/budgets/usage-queries'
import { formatIsoDay, parseUsageView } from '../../hub/budgets/usage-view'
import { type HubEnv, readCredential, readReader } from '../../hub/http/page-entry'
import { pageErrors } from '../frame/page-errors'
import { sendCsv } from '../frame/send-csv'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { formatArchivedCalls } from './archived-calls-csv'
import { BudgetsPage } from './budgets-page'
import { composeChart } from './chart-data'
import { registerBudgetForms } from './edit-pages'
import { formatUsageCsv } from './usage-csv'

/** Registers `GET /budgets`, `GET /budgets.csv`, the CSV of archived model calls and the forms of budgets. */
export function registerBudgetPages(app: Hono<HubEnv>): void {
  app.get('/budgets', page(showBudgets))
  app.get('/budgets.csv', page(downloadUsage))
  app.get('/budgets/calls.csv', page(downloadArchivedCalls))
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

/** Returns the model calls of a file of the archive as CSV, for admins. */
async function downloadArchivedCalls(c: PageContext): Promise<Response> {
  const { archive, clock } = c.var.context
  const name = c.req.query('archived') ?? ''
  const credential = await readCredential(c)
  const file = await readRecords(archive, 'usage', archiveName.test(name) ? name : '')
  const caller = { credential, now: clock.now() }
  const { frame, answers } = await readPage(c, { calls: selectArchivedCalls(caller, file) })
  if (!frame.viewer) throw pageErrors.signInRequired()
  if (!frame.viewer.isAdmin) throw pageErrors.adminRequired()
  const day = name.slice(0, name.indexOf('/'))
  return sendCsv(c, `rookery-model-calls-${day}.csv`, formatArchivedCalls(answers.calls))
}

async function showBudgets(c: PageContext): Promise<Response> {
  const now = c.var.context.clock.now()
  const view = parseUsageView((name) => c.req.query(name), now)
  const reader = await readReader(c)
  const { frame, answers } = await readPage(c, {
    ...usageViewStatements(view, reader),
    budgets: selectBudgets({ now, reader }),
    lines: selectRequesterLines({ now, reader }),
    activations: selectLatestActivations({ reader }),
    files: selectFiles('usage', { until: readDay(c.req.query('archived_before')) }),
  })
  const archives = frame.viewer?.isAdmin
    ? answers.files.map((each) => toArchiveView('usage', each))
    : []
  const requesters = toRequesterSpending(answers.lines, answers.budgets, frame.viewer)
  const shown = { frame, view, archives, requesters }
  return sendPage(c, <BudgetsPage {...answers} {...shown} />)
}

/** Returns the start of a day such as `2026-01-31`, in UTC; undefined for any other text. */
function readDay(text = ''): number | undefined {
  const at = Date.parse(text)
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(at) ? at : undefined
}
