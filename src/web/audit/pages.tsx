import type { Hono } from 'hono'
import { readCallContents } from '../../hub/audit/call-contents'
import { auditErrors } from '../../hub/audit/errors'
import { auditFilter } from '../../hub/audit/filter'
import {
  type AuditFilter,
  type AuditList,
  selectAudit,
  selectAuditEntry,
} from '../../hub/audit/list-queries'
import { decodeCursor, encodeCursor } from '../../hub/cursor'
import { type HubEnv, listDetails, readCredential } from '../../hub/http/page-entry'
import { audit } from '../../shared/config'
import { toProblem } from '../form/to-problem'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { formatAuditCsv } from './audit-csv'
import { AuditEntryPage } from './audit-entry-page'
import { type AuditFilterValues, filterFields } from './audit-filter-form'
import { AuditPage } from './audit-page'

/** Registers `GET /audit`, `/audit.csv` with the same filter, and `/audit/:id`. */
export function registerAuditPages(app: Hono<HubEnv>): void {
  app.get('/audit', page(showAudit))
  app.get('/audit.csv', page(sendCsv))
  app.get('/audit/:id', page(showEntry))
}

async function showAudit(c: PageContext): Promise<Response> {
  const { typed, filter, problem } = readFilter(c)
  const cursor = decodeCursor(c.req.query('cursor'))
  const before = Array.isArray(cursor) ? cursor : null
  const list = { ...filter, before, limit: audit.pageDefault + 1 }
  const { frame, rows } = await readRows(c, list)
  const shown = rows.slice(0, audit.pageDefault)
  const last = shown.at(-1)
  const given = Object.entries(typed).filter(([, value]) => value !== '')
  return sendPage(
    c,
    <AuditPage
      frame={frame}
      rows={shown}
      values={typed}
      query={new URLSearchParams(given).toString()}
      next={rows.length > shown.length && last ? encodeCursor([last.at, last.id]) : null}
      problem={problem}
    />,
    problem ? 400 : 200,
  )
}

async function sendCsv(c: PageContext): Promise<Response> {
  const { filter, problem } = readFilter(c)
  if (problem) throw auditErrors.csvFilter(problem.message, problem.hint ?? '')
  const { rows } = await readRows(c, { ...filter, before: null, limit: audit.csvRowsMax })
  return c.body(formatAuditCsv(rows), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="rookery-audit.csv"',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
  })
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

/** Parses the filter. With an invalid one the page shows the error and the unfiltered list. */
function readFilter(c: PageContext): {
  typed: AuditFilterValues
  filter: AuditFilter
  problem: { message: string; hint: string | null } | null
} {
  const fields = filterFields.map((name) => [name, c.req.query(name) ?? ''] as const)
  const typed = Object.fromEntries(fields) as AuditFilterValues
  const given = Object.fromEntries(fields.filter(([, value]) => value !== ''))
  const parsed = auditFilter.safeParse(given)
  if (parsed.success) return { typed, filter: parsed.data, problem: null }
  const details = listDetails(parsed.error, '')
  const { message, hint } = toProblem(auditErrors.filter(details))
  return { typed, filter: {}, problem: { message, hint } }
}
