import type { Hono } from 'hono'
import { readCallContents } from '../../hub/audit/call-contents'
import { auditErrors } from '../../hub/audit/errors'
import { auditFilter } from '../../hub/audit/filter'
import { type AuditList, selectAudit, selectAuditEntry } from '../../hub/audit/list-queries'
import { decodeKeyset, splitPage } from '../../hub/cursor'
import { type HubEnv, readCredential } from '../../hub/http/page-entry'
import { audit } from '../../shared/config'
import { sendCsv } from '../frame/send-csv'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { formatAuditCsv } from './audit-csv'
import { AuditEntryPage } from './audit-entry-page'
import { filterFields } from './audit-filter-form'
import { AuditPage } from './audit-page'
import { readFilter, requireFilter } from './read-filter'

/** Registers `GET /audit`, `/audit.csv` with the same filter, and `/audit/:id`. */
export function registerAuditPages(app: Hono<HubEnv>): void {
  app.get('/audit', page(showAudit))
  app.get('/audit.csv', page(downloadAudit))
  app.get('/audit/:id', page(showEntry))
}

async function showAudit(c: PageContext): Promise<Response> {
  const { filter, ...read } = readFilter(c, filterFields, auditFilter)
  const before = decodeKeyset(c.req.query('cursor'))
  const list = { ...filter, before, limit: audit.pageDefault + 1 }
  const { frame, rows } = await readRows(c, list)
  const { page: shown, next } = splitPage(rows, audit.pageDefault)
  const props = { frame, rows: shown, next, ...read }
  return sendPage(c, <AuditPage {...props} />, read.problem ? 400 : 200)
}

async function downloadAudit(c: PageContext): Promise<Response> {
  const filter = requireFilter(c, filterFields, auditFilter)
  const { rows } = await readRows(c, { ...filter, before: null, limit: audit.csvRowsMax })
  return sendCsv(c, 'rookery-audit.csv', formatAuditCsv(rows))
}

async function showEntry(c: PageContext): Promise<Response> {
  const { agents, clock } = c.var.context
  const credential = await requireSignIn(c)
  const caller = { credential, now: clock.now() }
  const { frame, answers } = await readPage(c, {
    row: selectAuditEntry(caller, c.req.param('id') ?? ''),
  })
  const { row } = answers
  if (!frame.viewer) throw auditErrors.signIn()
  if (!row) throw auditErrors.callNotFound()
  return sendPage(
    c,
    <AuditEntryPage
      frame={frame}
      row={row}
      contents={readCallContents(agents, frame.viewer, row)}
    />,
  )
}

async function readRows(c: PageContext, list: AuditList) {
  const credential = await requireSignIn(c)
  const caller = { credential, now: c.var.context.clock.now() }
  const { frame, answers } = await readPage(c, { rows: selectAudit(caller, list) })
  if (!frame.viewer) throw auditErrors.signIn()
  return { frame, rows: answers.rows }
}

async function requireSignIn(c: PageContext) {
  const credential = await readCredential(c)
  if (!credential) throw auditErrors.signIn()
  return credential
}
