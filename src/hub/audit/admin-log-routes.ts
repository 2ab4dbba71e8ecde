import * as z from 'zod'
import { audit } from '../../shared/config'
import { decodeCursor, encodeCursor } from '../cursor'
import { pageFields, presentTime, timeAnswer } from '../http/answers'
import { requireAdmin } from '../http/authenticate'
import { type Route, route } from '../http/route'
import { type AdminLogRow, selectAdminLog } from './admin-log-queries'
import { adminLogFilter } from './filter'

const settings = z.record(z.string(), z.unknown()).nullable()

const entryAnswer = z
  .object({
    id: z.string(),
    at: timeAnswer,
    account_id: z.string(),
    account: z.string().nullable().describe('Name; null when the account is deleted.'),
    action: z.string().describe('Such as policy.set.'),
    target_type: z.string(),
    target_id: z.string(),
    target: z.string().nullable().describe('Name of the account that the target is.'),
    reason: z.string().nullable(),
    before: settings.describe('The settings before, without secrets.'),
    after: settings.describe('The settings after, without secrets.'),
  })
  .meta({ id: 'AdminLogEntry' })

const presentEntry = (row: AdminLogRow): z.input<typeof entryAnswer> => ({
  id: row.id,
  at: presentTime(row.at),
  account_id: row.accountId,
  account: row.accountName,
  action: row.action,
  target_type: row.targetType,
  target_id: row.targetId,
  target: row.targetName,
  reason: row.reason,
  before: row.before,
  after: row.after,
})

export const adminLogRoutes: Route[] = [
  route({
    method: 'get',
    path: '/admin/log',
    summary:
      'What admins and moderators did, newest first: who, what, and the settings before and after (admin)',
    tag: 'audit',
    // The rows are read together with the viewer, in one round trip.
    access: 'own',
    rate: 'read',
    query: adminLogFilter.extend({
      limit: z.coerce.number().int().min(1).max(audit.pageMax).default(audit.pageDefault),
      cursor: z.string().max(500).optional(),
    }),
    answer: z.object({ entries: z.array(entryAnswer), ...pageFields }),
    handle: async ({ context: { clock }, credential, query, read }) => {
      const { limit, cursor: given, ...filter } = query
      const cursor = decodeCursor(given)
      const before = Array.isArray(cursor) ? cursor : null
      const list = { ...filter, before, limit: limit + 1 }
      const { viewer, answers } = await read({
        rows: selectAdminLog({ credential, now: clock.now() }, list),
      })
      if (viewer) requireAdmin(viewer)
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
]
