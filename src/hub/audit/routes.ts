import * as z from 'zod'
import { audit } from '../../shared/config'
import { notFound } from '../../shared/errors'
import { presentTime } from '../accounts/present'
import { decodeCursor, encodeCursor } from '../cursor'
import { type Route, route } from '../http/route'
import { readCallContents } from './call-contents'
import { auditFilter } from './filter'
import { type AuditRow, selectAudit, selectAuditEntry } from './list-queries'

const tag = 'audit'

const presentEntry = (row: AuditRow): object => ({
  id: row.id,
  at: presentTime(row.at),
  account: { id: row.accountId, name: row.accountName, kind: row.accountKind },
  activation_id: row.activationId,
  task: row.task,
  asked_by: row.askedBy,
  call_id: row.callId,
  tool: row.tool,
  grant: row.grant || null,
  arguments_hash: row.argumentsHash,
  decision: row.decision,
  reason: row.reason,
  outcome: row.outcome,
  duration_ms: row.durationMs,
  result_bytes: row.resultBytes,
})

export const auditRoutes: Route[] = [
  route({
    method: 'get',
    path: '/audit',
    summary:
      'Tool calls, newest first, with account, tool, grant, decision and outcome; admins see all, others their own and those of their agents',
    tag,
    access: 'own',
    query: auditFilter.extend({
      limit: z.coerce.number().int().min(1).max(audit.pageMax).default(audit.pageDefault),
      cursor: z.string().max(500).optional(),
    }),
    handle: async ({ context: { clock }, credential, query, read }) => {
      const { limit, cursor: given, ...filter } = query
      const cursor = decodeCursor(given)
      const caller = { credential, now: clock.now() }
      const before = Array.isArray(cursor) ? cursor : null
      const { answers } = await read({
        rows: selectAudit(caller, { ...filter, before, limit: limit + 1 }),
      })
      const { rows } = answers
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      const hasMore = rows.length > page.length
      return {
        entries: page.map(presentEntry),
        has_more: hasMore,
        next_cursor: hasMore && last ? encodeCursor([last.at, last.id]) : null,
      }
    },
  }),
  route({
    method: 'get',
    path: '/audit/:id',
    summary: 'One tool call with its arguments and its result, if they are still stored',
    tag,
    access: 'own',
    handle: async ({ context: { clock, agents }, credential, param, read }) => {
      const { answers } = await read({
        row: selectAuditEntry({ credential, now: clock.now() }, param('id')),
      })
      const { row } = answers
      if (!row) throw notFound('audit entry')
      return { entry: { ...presentEntry(row), ...readCallContents(agents, row) } }
    },
  }),
]
