import type { AuditRow } from '../../hub/audit/list-queries'
import { toIso } from '../../shared/format'
import { formatCsv } from '../parts/csv'

const headers = [
  'time_utc',
  'account',
  'kind',
  'tool',
  'grant',
  'decision',
  'outcome',
  'duration_ms',
  'result_bytes',
  'asked_by',
  'activation_id',
  'arguments_hash',
  'reason',
  'id',
]

/** Returns audit entries as CSV, without the arguments, which the page of each entry shows. */
export const formatAuditCsv = (rows: AuditRow[]): string =>
  formatCsv([
    headers,
    ...rows.map((row) => [
      toIso(row.at),
      row.accountName,
      row.accountKind,
      row.tool,
      row.grant,
      row.decision,
      row.outcome,
      row.durationMs,
      row.resultBytes,
      row.askedBy,
      row.activationId,
      row.argumentsHash,
      row.reason,
      row.id,
    ]),
  ])
