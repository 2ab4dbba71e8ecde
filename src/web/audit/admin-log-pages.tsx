import type { Hono } from 'hono'
import { type AdminLogList, selectAdminLog } from '../../hub/audit/admin-log-queries'
import { adminLogFilter } from '../../hub/audit/filter'
import { type HubEnv, readCredential } from '../../hub/http/page-entry'
import { audit } from '../../shared/config'
import { decodeKeyset, splitPage, toTimeKey } from '../../shared/cursor'
import { pageErrors } from '../frame/page-errors'
import { sendCsv } from '../frame/send-csv'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { formatAdminLogCsv } from './admin-log-csv'
import { AdminLogPage, adminLogFields } from './admin-log-page'
import { readFilter, requireFilter } from './read-filter'

/** Registers `GET /admin/log` and `/admin/log.csv` with the same filter, for admins. */
export function registerAdminLogPages(app: Hono<HubEnv>): void {
  app.get('/admin/log', page(showLog))
  app.get('/admin/log.csv', page(downloadLog))
}

async function showLog(c: PageContext): Promise<Response> {
  const { filter, ...read } = readFilter(c, adminLogFields, adminLogFilter)
  const before = decodeKeyset('/admin/log', c.req.query('cursor'))
  const { frame, rows } = await readRows(c, { ...filter, before, limit: audit.pageDefault + 1 })
  const { page: shown, next } = splitPage(rows, audit.pageDefault, '/admin/log', toTimeKey)
  const props = { frame, rows: shown, next, ...read }
  return sendPage(c, <AdminLogPage {...props} />, read.problem ? 400 : 200)
}

async function downloadLog(c: PageContext): Promise<Response> {
  const filter = requireFilter(c, adminLogFields, adminLogFilter)
  const { rows } = await readRows(c, { ...filter, before: null, limit: audit.csvRowsMax })
  return sendCsv(c, 'rookery-admin-log.csv', formatAdminLogCsv(rows))
}

async function readRows(c: PageContext, list: AdminLogList) {
  const credential = await readCredential(c)
  const caller = { credential, now: c.var.context.clock.now() }
  const { frame, answers } = await readPage(c, { rows: selectAdminLog(caller, list) })
  if (!frame.viewer) throw pageErrors.signInRequired()
  if (!frame.viewer.isAdmin) throw pageErrors.adminRequired()
  return { frame, rows: answers.rows }
}
