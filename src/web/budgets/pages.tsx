import type { Hono } from 'hono'
import { selectBudgets } from '../../hub/budgets/page-queries'
import {
  selectPastLines,
  selectPastWindows,
  selectRequesterLines,
} from '../../hub/budgets/requester-queries'
import {
  type ArchivedCall,
  selectArchivedCalls,
  type UsageTotals,
  usageViewStatements,
} from '../../hub/budgets/usage-queries'
import {
  formatIsoDay,
  parseUsageView,
  toRequesterSpending,
  type UsageView,
} from '../../hub/budgets/usage-view'
import { type HubEnv, readCredential, readReader } from '../../hub/http/page-entry'
import { selectFiles } from '../../hub/operations/archive-queries'
import { archiveName, readRecords, toArchiveView } from '../../hub/operations/archive-view'
import { selectLatestActivations } from '../../hub/runs/list-queries'
import { toIso } from '../../shared/format'
import { type PageContext, page, pageErrors, readPage, sendCsv, sendPage } from '../frame/send-page'
import { formatCsv } from '../parts/csv'
import { registerBudgetForms } from './budget-edit-page'
import { BudgetsPage } from './budgets-page'
import { composeChart, type UsageChart } from './spend-chart'

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
  const startsAt = Date.parse(c.req.query('requesters_of') ?? '')
  const { frame, answers } = await readPage(c, {
    ...usageViewStatements(view, reader),
    budgets: selectBudgets({ now, reader }),
    lines: selectRequesterLines({ now, reader }),
    ended: selectPastWindows({ now }),
    pastLines: Number.isNaN(startsAt) ? null : selectPastLines({ startsAt, reader }),
    activations: selectLatestActivations({ reader }),
    files: selectFiles('usage', { until: readDay(c.req.query('archived_before')) }),
  })
  const archives = frame.viewer?.isAdmin
    ? answers.files.map((each) => toArchiveView('usage', each))
    : []
  const past = answers.ended.find((each) => each.startsAt === startsAt)
  const lines = past ? (answers.pastLines ?? []) : answers.lines
  const requesters = toRequesterSpending(lines, answers.budgets, frame.viewer, past)
  const shown = { frame, view, archives, requesters }
  return sendPage(c, <BudgetsPage {...answers} {...shown} />)
}

/** Returns the start of a day such as `2026-01-31`, in UTC; undefined for any other text. */
function readDay(text = ''): number | undefined {
  const at = Date.parse(text)
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(at) ? at : undefined
}

const sumHeaders = [
  'calls',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'unpriced_tokens',
  'cost_usd',
] as const

/**
 * Returns the numbers of a chart as CSV, with a line for each bucket and series that has calls. Cost is
 * in dollars to the micro-dollar, and empty where no call has a price.
 */
function formatUsageCsv(view: UsageView, chart: UsageChart): string {
  const headers = view.each === 'day' ? ['day_utc'] : ['from_day_utc', 'to_day_utc']
  const rows = chart.buckets.flatMap(({ fromDay, toDay, cells }) => {
    const days =
      view.each === 'day'
        ? [formatIsoDay(fromDay)]
        : [formatIsoDay(fromDay), formatIsoDay(toDay - 1)]
    return cells
      .map((cell, place) => [...days, chart.series[place]?.name ?? '', ...writeSums(cell)])
      .filter((_, place) => (cells[place]?.calls ?? 0) > 0)
  })
  return formatCsv([[...headers, view.by, ...sumHeaders], ...rows])
}

const writeSums = (sums: UsageTotals): (string | number)[] => [
  sums.calls,
  sums.inputTokens,
  sums.cachedTokens,
  sums.outputTokens,
  sums.unpricedTokens,
  sums.unpricedCalls === sums.calls ? '' : (sums.costMicrousd / 1_000_000).toFixed(6),
]

const headers = [
  'time_utc',
  'agent',
  'activation_id',
  'call',
  'model',
  'task',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_usd',
  'is_estimated',
  'duration_ms',
]

/** Returns model calls as CSV. Cost is in dollars to the micro-dollar, and empty where a call has no price. */
const formatArchivedCalls = (calls: ArchivedCall[]): string =>
  formatCsv([
    headers,
    ...calls.map((call) => [
      toIso(call.at),
      call.agentName,
      call.activationId,
      call.call,
      call.model,
      call.task,
      call.inputTokens,
      call.cachedTokens,
      call.outputTokens,
      call.reasoningTokens,
      call.isPriced ? (call.costMicrousd / 1_000_000).toFixed(6) : null,
      call.isEstimated ? 'yes' : 'no',
      call.durationMs,
    ]),
  ])
