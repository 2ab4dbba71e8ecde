import type { Hono } from 'hono'
import {
  type AdminLogFilter,
  type AdminLogList,
  selectAdminLog,
} from '../../hub/audit/admin-log-queries'
import { auditErrors } from '../../hub/audit/errors'
import { adminLogFilter } from '../../hub/audit/filter'
import { decodeCursor, encodeCursor } from '../../hub/cursor'
import { type HubEnv, listDetails, readCredential } from '../../hub/http/page-entry'
import { audit } from '../../shared/config'
import type { FormProblem } from '../form/form-state'
import { toProblem } from '../form/to-problem'
import { pageErrors } from '../frame/page-errors'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { formatAdminLogCsv } from './admin-log-csv'
import { AdminLogPage, type AdminLogValues, adminLogFields } from './admin-log-page'

/** Registers `GET /admin/log` and `/admin/log.csv` with the same filter, for admins. */
export function registerAdminLogPages(app: Hono<HubEnv>): void {
  app.get('/admin/log', page(showLog))
  app.get('/admin/log.csv', page(sendCsv))
}

async function showLog(c: PageContext): Promise<Response> {
  const { typed, filter, problem } = readFilter(c)
  const cursor = decodeCursor(c.req.query('cursor'))
  const before = Array.isArray(cursor) ? cursor : null
  const { frame, rows } = await readRows(c, { ...filter, before, limit: audit.pageDefault + 1 })
  const shown = rows.slice(0, audit.pageDefault)
  const last = shown.at(-1)
  const given = Object.entries(typed).filter(([, value]) => value !== '')
  const next = rows.length > shown.length && last ? encodeCursor([last.at, last.id]) : null
  const query = new URLSearchParams(given).toString()
  const props = { frame, rows: shown, values: typed, query, next, problem }
  return sendPage(c, <AdminLogPage {...props} />, problem ? 400 : 200)
}

async function sendCsv(c: PageContext): Promise<Response> {
  const { filter, problem } = readFilter(c)
  if (problem) throw auditErrors.csvFilter(problem.message, problem.hint ?? '')
  const { rows } = await readRows(c, { ...filter, before: null, limit: audit.csvRowsMax })
  return c.body(formatAdminLogCsv(rows), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="rookery-admin-log.csv"',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
  })
}

async function readRows(c: PageContext, list: AdminLogList) {
  const credential = await readCredential(c)
  const caller = { credential, now: c.var.context.clock.now() }
  const { frame, answers } = await readPage(c, { rows: selectAdminLog(caller, list) })
  if (!frame.viewer) throw pageErrors.signInRequired()
  if (!frame.viewer.isAdmin) throw pageErrors.adminRequired()
  return { frame, rows: answers.rows }
}

/** Parses the filter. With an invalid one the page shows the error and the unfiltered list. */
function readFilter(c: PageContext): {
  typed: AdminLogValues
  filter: AdminLogFilter
  problem: FormProblem | null
} {
  const fields = adminLogFields.map((name) => [name, c.req.query(name) ?? ''] as const)
  const typed = Object.fromEntries(fields) as AdminLogValues
  const given = Object.fromEntries(fields.filter(([, value]) => value !== ''))
  const parsed = adminLogFilter.safeParse(given)
  if (parsed.success) return { typed, filter: parsed.data, problem: null }
  const { message, hint } = toProblem(auditErrors.filter(listDetails(parsed.error, '')))
  return { typed, filter: {}, problem: { message, hint } }
}
