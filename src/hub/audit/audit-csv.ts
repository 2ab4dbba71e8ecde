import { writeCsv } from '../web/csv'
import { toIso } from '../web/format'
import type { AuditRow } from './list-queries'

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
export const writeAuditCsv = (rows: AuditRow[]): string =>
  writeCsv([
    headers,
    ...rows.map((row) => [
      ...[toIso(row.at), row.accountName, row.accountKind, row.tool, row.grant, row.decision],
      ...[row.outcome, row.durationMs, row.resultBytes, row.askedBy, row.activationId],
      ...[row.argumentsHash, row.reason, row.id],
    ]),
  ])
