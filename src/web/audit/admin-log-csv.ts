import type { AdminLogRow } from '../../hub/audit/admin-log-queries'
import { toIso } from '../../shared/format'
import { formatCsv } from '../parts/csv'

const headers = [
  'time_utc',
  'account',
  'account_id',
  'action',
  'target_type',
  'target',
  'target_id',
  'reason',
  'before',
  'after',
  'id',
]

const toJson = (settings: object | null): string | null =>
  settings === null ? null : JSON.stringify(settings)

/** Returns entries of the admin log as CSV. */
export const formatAdminLogCsv = (rows: AdminLogRow[]): string =>
  formatCsv([
    headers,
    ...rows.map((row) => [
      toIso(row.at),
      row.accountName,
      row.accountId,
      row.action,
      row.targetType,
      row.targetName,
      row.targetId,
      row.reason,
      toJson(row.before),
      toJson(row.after),
      row.id,
    ]),
  ])
