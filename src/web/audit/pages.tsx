import type { Hono } from 'hono'
import {
  type ArchivedRecords,
  archiveName,
  readRecords,
  toArchiveView,
} from '../../hub/archive/archive-view'
import { selectFiles } from '../../hub/archive/queries'
import { readCallContents } from '../../hub/audit/call-contents'
import { auditErrors } from '../../hub/audit/errors'
import { auditFilter } from '../../hub/audit/filter'
import { type AuditList, selectAudit, selectAuditEntry } from '../../hub/audit/list-queries'
import { type HubEnv, readCredential } from '../../hub/http/page-entry'
import { audit } from '../../shared/config'
import { decodeKeyset, splitPage, toTimeKey } from '../../shared/cursor'
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
  const before = decodeKeyset('/audit', c.req.query('cursor'))
  const list = { ...filter, before, limit: audit.pageDefault + 1 }
  const { frame, rows, archives, archived } = await readRows(c, list)
  const { page: shown, next } = splitPage(rows, audit.pageDefault, '/audit', toTimeKey)
  const props = { frame, rows: shown, next, archives, archived, ...read }
  return sendPage(c, <AuditPage {...props} />, read.problem ? 400 : 200)
}

async function downloadAudit(c: PageContext): Promise<Response> {
  const filter = requireFilter(c, filterFields, auditFilter)
  const { rows } = await readRows(c, { ...filter, before: null, limit: audit.csvRowsMax })
  return sendCsv(c, 'rookery-audit.csv', formatAuditCsv(rows))
}

async function showEntry(c: PageContext): Promise<Response> {
  const credential = await requireSignIn(c)
  const caller = { credential, now: c.var.context.clock.now() }
  const file = await readFile(c)
  const { frame, answers } = await readPage(c, {
    row: selectAuditEntry(caller, c.req.param('id') ?? '', file),
  })
  const { row } = answers
  if (!frame.viewer) throw auditErrors.signIn()
  if (!row) throw auditErrors.callNotFound()
  return sendPage(
    c,
    <AuditEntryPage
      frame={frame}
      row={row}
      contents={await readCallContents(c.var.context, frame.viewer, row)}
    />,
  )
}

async function readRows(c: PageContext, list: AuditList) {
  const credential = await requireSignIn(c)
  const caller = { credential, now: c.var.context.clock.now() }
  const archived = await readFile(c)
  const { frame, answers } = await readPage(c, {
    rows: selectAudit(caller, { ...list, archived }),
    files: selectFiles('audit', list),
  })
  if (!frame.viewer) throw auditErrors.signIn()
  const archives = answers.files.map((each) => toArchiveView('audit', each))
  return { frame, rows: answers.rows, archives, archived: archived ? readFileName(c) : '' }
}

const readFileName = (c: PageContext): string => c.req.query('archived') ?? ''

/** Reads the file of the archive that the page shows; undefined for stored calls. */
async function readFile(c: PageContext): Promise<ArchivedRecords | undefined> {
  const name = readFileName(c)
  if (!archiveName.test(name)) return undefined
  return readRecords(c.var.context.archive, 'audit', name)
}

async function requireSignIn(c: PageContext) {
  const credential = await readCredential(c)
  if (!credential) throw auditErrors.signIn()
  return credential
}
