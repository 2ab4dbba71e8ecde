import type { Hono } from 'hono'
import { runFilterForm } from '../../hub/activations/filter'
import {
  runListStatements,
  selectRunsForCsv,
  splitRuns,
} from '../../hub/activations/run-list-queries'
import { type HubEnv, readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import { deleteView, saveView } from '../../hub/run-views/actions'
import { runViewInput } from '../../hub/run-views/inputs'
import { selectRunViews } from '../../hub/run-views/queries'
import { runLists } from '../../shared/config'
import { decodeKeyset, encodeCursor } from '../../shared/cursor'
import { runsPath } from '../../shared/paths'
import { readFilter, requireFilter } from '../audit/read-filter'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm } from '../frame/read-form'
import { sendCsv } from '../frame/send-csv'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { runFilterFields } from './run-filter-form'
import { emptyRunView, type RunViewFormState, runViewForm } from './run-views'
import { formatRunsCsv } from './runs-csv'
import { RunsPage } from './runs-page'

/** Registers `GET /runs`, `/runs.csv` with the same filter, and the forms of saved views. */
export function registerRunPages(app: Hono<HubEnv>): void {
  app.get(
    '/runs',
    page((c) => showRuns(c, emptyRunView)),
  )
  app.get('/runs.csv', page(downloadRuns))
  app.post('/runs/views', page(saveRunView))
  app.post('/runs/views/delete', page(deleteRunView))
}

async function showRuns(c: PageContext, viewForm: RunViewFormState, status = 200) {
  const { filter, ...read } = readFilter(c, runFilterFields, runFilterForm)
  const reader = await readReader(c)
  const before = decodeKeyset('/runs', c.req.query('cursor'))
  const hasTotals = c.req.query('totals') !== undefined
  const { frame, answers } = await readPage(c, {
    ...runListStatements({ ...filter, reader, before, limit: runLists.pageDefault + 1 }, hasTotals),
    views: selectRunViews({ reader }),
  })
  const { page: rows, next } = splitRuns(answers.rows, answers.edge, runLists.pageDefault)
  const { totals, totalsEdge, views } = answers
  return sendPage(
    c,
    <RunsPage
      {...{ frame, rows, totals, totalsEdge, views, viewForm, ...read }}
      next={next && encodeCursor('/runs', next)}
    />,
    read.problem ? 400 : status,
  )
}

async function downloadRuns(c: PageContext): Promise<Response> {
  const filter = requireFilter(c, runFilterFields, runFilterForm)
  const { answers } = await readPage(c, {
    rows: selectRunsForCsv({ ...filter, reader: await readReader(c) }),
  })
  return sendCsv(c, 'rookery-runs.csv', formatRunsCsv(answers.rows))
}

async function saveRunView(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write', { isWriting: false })
  const read = readFormWith(runViewInput, await readForm(c), runViewForm)
  if (!read.isValid) return showRuns(c, read.form, 400)
  const { name, query } = read.value
  try {
    await saveView(c.var.context, toActor(viewer, null), { name, query: toFilterQuery(query) })
  } catch (error) {
    const { form, status } = rejectForm(runViewForm, read.form, error)
    return showRuns(c, form, status)
  }
  return c.redirect(runsPath(toFilterQuery(query)), 303)
}

async function deleteRunView(c: PageContext): Promise<Response> {
  const text = await readForm(c)
  const viewer = await requireViewer(c, 'write', { isWriting: false })
  await deleteView(c.var.context, toActor(viewer, null), text('name'))
  return c.redirect(runsPath(), 303)
}

/** Returns the filled-in fields of the filter alone, so that a view leads to nothing but the list. */
function toFilterQuery(query: string): string {
  const given = new URLSearchParams(query)
  const fields = runFilterFields.flatMap((name): [string, string][] => {
    const value = given.get(name) ?? ''
    return value === '' ? [] : [[name, value]]
  })
  return new URLSearchParams(fields).toString()
}
