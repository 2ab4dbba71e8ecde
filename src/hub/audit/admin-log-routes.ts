import * as z from 'zod'
import { decodeKeyset, splitPage, toPageFields, toTimeKey } from '../../shared/cursor'
import { pageFields, timeAnswer } from '../http/answers'
import { requireAdmin } from '../http/authenticate'
import { presenterOf } from '../http/presenter'
import { type Route, route } from '../http/route'
import { type AdminLogRow, selectAdminLog } from './admin-log-queries'
import { adminLogFilter, logPage } from './filter'

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

const presentEntry = presenterOf(entryAnswer).from<AdminLogRow>({
  account: (row) => row.accountName,
  target: (row) => row.targetName,
})

export const adminLogRoutes: Route[] = [
  route({
    method: 'get',
    path: '/admin/log',
    summary:
      'Lists what admins and moderators did, newest first: who, what, and the settings before and after (admin)',
    tag: 'people',
    // The rows are read together with the viewer, in one round trip.
    access: 'own',
    rate: 'read',
    query: adminLogFilter.extend(logPage),
    answer: z.object({ entries: z.array(entryAnswer), ...pageFields }),
    handle: async ({ context: { clock }, credential, list, query, read }) => {
      const { limit, cursor, ...filter } = query
      const before = decodeKeyset(list, cursor)
      const request = { ...filter, before, limit: limit + 1 }
      const { viewer, answers } = await read({
        rows: selectAdminLog({ credential, now: clock.now() }, request),
      })
      if (viewer) requireAdmin(viewer)
      const { page, next } = splitPage(answers.rows, limit, list, toTimeKey)
      return { entries: page.map(presentEntry), ...toPageFields(next) }
    },
  }),
]
