import { getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import type { ArchivedRecords } from '../archive/archive-view'
import type { AuditEntry } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import { archiveFiles } from '../schema/archive'
import { auditLog } from '../schema/audit'
import { agentDefinitions } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { canReadRunSql, isRunShownSql, traceAccessColumns } from '../traces/trace-access-queries'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'
import { matchesNameSql } from './name-filter-sql'

const l = alias(auditLog, 'l')
const a = alias(accounts, 'a')
const x = alias(activations, 'x')
const requester = alias(accounts, 'requester')
const t = alias(activationTraces, 't')

const entryFields = (reader: SQLWrapper) => ({
  id: l.id,
  at: l.createdAt,
  accountId: a.id,
  accountName: a.name,
  accountKind: a.kind,
  activationId: l.activationId,
  /** Task of its activation; null for a call of an external agent or program. */
  task: nullable(x.task),
  /** Requester of the task; null without one, and of a run whose requesters the viewer does not see. */
  askedBy: nullable(requester.name),
  askedByKind: nullable(requester.kind),
  callId: l.callId,
  tool: l.tool,
  grant: l.grant,
  argumentsHash: l.argumentsHash,
  decision: l.decision,
  outcome: l.outcome,
  /** Reason of a refusal, as returned to the caller; null of a run whose requesters the viewer does not see. */
  reason: l.reason,
  durationMs: l.durationMs,
  resultBytes: l.resultBytes,
  /** Whether the viewer sees the requesters of its run; true for a call of no run. */
  isShown: flag(sql`(${x.id} IS NULL OR ${isRunShownSql(reader)})`),
})

/** An audit entry as the page and the API present it. */
export type AuditRow = RowOf<ReturnType<typeof entryFields>>

const detailFields = (reader: SQLWrapper) => ({
  ...entryFields(reader),
  ...traceAccessColumns(reader),
  agentId: a.id,
  /** Arguments of a call of an external agent or program. */
  arguments: l.arguments,
  /** JSON of its activation's trace, which holds arguments and result; null when not stored. */
  trace: nullable(t.trace),
})

/** An audit entry with its arguments and its trace. */
export type AuditDetail = RowOf<ReturnType<typeof detailFields>>

export interface AuditFilter {
  /** Name of an account. */
  account?: string | undefined
  /** Name of a tool, or of a server and `*`, e.g. `github_*`. */
  tool?: string | undefined
  decision?: AuditEntry['decision'] | undefined
  outcome?: NonNullable<AuditEntry['outcome']> | undefined
  /** Milliseconds since the epoch; `until` is exclusive. */
  since?: number | undefined
  until?: number | undefined
}

export interface AuditList extends AuditFilter {
  /** Keyset cursor: time and id of the last entry of the previous page. */
  before: [number, string] | null
  limit: number
  /** The entries of a file of the archive, to be listed instead of the stored ones. */
  archived?: ArchivedRecords | undefined
}

/** Hides the requester of a run whose requesters the viewer does not see, and the reason, which can name them. */
const hideRequesters = <Row extends AuditRow>(row: Row): Row =>
  row.isShown ? row : { ...row, askedBy: null, askedByKind: null, reason: null }

const i = alias(inboxItems, 'i')

/** CROSS JOIN keeps the log outermost, so that its index provides the order and the limit. */
const fromLog = sql`FROM ${auditLog} ${l} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${l.accountId}
  LEFT JOIN ${activations} ${x} ON ${x.id} = ${l.activationId}
  LEFT JOIN ${accounts} ${requester} ON ${requester.id} = (SELECT ${i.fromAccountId}
    FROM ${inboxItems} ${i} WHERE ${i.claimedBy} = ${l.activationId} AND ${i.isTask} = 1
    ORDER BY ${i.createdAt} LIMIT 1)`

const d = alias(agentDefinitions, 'd')

/**
 * Condition: the viewer can see the entry. Admins see all; others see their own calls, and calls of
 * agents that ran a definition which they wrote, arguments included, in threads that they read.
 */
const isVisibleTo = (reader: SQLWrapper) => sql`EXISTS (SELECT 1 FROM ${viewer}
  WHERE ${viewer.role} = 'admin' OR (${canReadRunSql(reader)} AND (${viewer.id} = ${l.accountId}
    OR EXISTS (SELECT 1 FROM ${agentDefinitions} ${d} WHERE ${d.accountId} = ${x.agentId}
      AND ${d.version} = ${x.definitionVersion} AND ${d.createdBy} = ${viewer.id}))))`

const farFuture = 9_000_000_000_000_000

interface Caller {
  credential: Credential | null
  now: number
}

interface CallerValues extends ViewerValues {
  reader: Reader
}

const toValues = ({ credential, now }: Caller): CallerValues => ({
  ...viewerValues(credential, now),
  reader: requestReader(credential, now),
})

interface ArchiveValues {
  /** Key and records of a file of the archive; null: the stored entries are read. */
  key: string | null
  records: string | null
}

/** The entries of a file in the place of the table. A file that was never named has none. */
const archivedLog = (v: Params<ArchiveValues>): SQL => {
  const columns = Object.entries(getTableColumns(auditLog))
  const names = columns.map(([, column]) => sql.identifier(column.name))
  const values = columns.map(([name]) => sql`r.value ->> ${sql.raw(`'${name}'`)}`)
  return sql`${auditLog} (${sql.join(names, sql`, `)}) AS (
    SELECT ${sql.join(values, sql`, `)} FROM json_each(${v.records}) r
    WHERE EXISTS (SELECT 1 FROM ${archiveFiles} WHERE ${archiveFiles.key} = ${v.key}))`
}

interface ListValues extends CallerValues, ArchiveValues {
  at: number
  id: string
  account: string | null
  tool: string | null
  decision: AuditEntry['decision'] | null
  outcome: AuditEntry['outcome']
  since: number
  until: number
  limit: number
}

const prepareList = (
  toCondition: (v: Params<ListValues>) => SQL,
  { isArchived = false }: { isArchived?: boolean } = {},
) =>
  prepare((v: Params<ListValues>) =>
    manySql(
      entryFields(v.reader),
      sql`${fromLog} WHERE (${l.createdAt}, ${l.id}) < (${v.at}, ${v.id}) AND ${isVisibleTo(v.reader)}
          AND ${toCondition(v)}
          AND ${matchesNameSql(l.tool, v.tool)}
          AND (${v.decision} IS NULL OR ${l.decision} = ${v.decision})
          AND (${v.outcome} IS NULL OR ${l.outcome} = ${v.outcome})
          AND ${l.createdAt} >= ${v.since} AND ${l.createdAt} < ${v.until}
        ORDER BY ${l.createdAt} DESC, ${l.id} DESC LIMIT ${v.limit}`,
      isArchived ? sql`${viewerCte(v)}, ${archivedLog(v)}` : viewerCte(v),
    ),
  )

const isOfAccount = ({ account }: Params<ListValues>): SQL => {
  const { id, name } = accounts
  return sql`${l.accountId} = (SELECT ${id} FROM ${accounts} WHERE ${name} = ${account})`
}

const selectAll = prepareList(() => sql`true`)
/** A text of its own, so that the index by account applies. */
const selectOfAccount = prepareList(isOfAccount)
const selectArchived = prepareList((v) => sql`(${v.account} IS NULL OR ${isOfAccount(v)})`, {
  isArchived: true,
})

/** Selects the visible entries that match the filter, newest first. */
export function selectAudit(caller: Caller, list: AuditList): Statement<AuditRow[]> {
  const [at, id] = list.before ?? [farFuture, '']
  const { account, archived } = list
  const selectStored = account === undefined ? selectAll : selectOfAccount
  const select = archived ? selectArchived : selectStored
  const rows = select({
    ...toValues(caller),
    ...toArchiveValues(archived),
    at,
    id,
    account: list.account ?? null,
    tool: list.tool ?? null,
    decision: list.decision ?? null,
    outcome: list.outcome ?? null,
    since: list.since ?? 0,
    until: list.until ?? farFuture,
    limit: list.limit,
  })
  return mapStatement(rows, (each) => each.map(hideRequesters))
}

const toArchiveValues = (archived: ArchivedRecords | undefined): ArchiveValues => ({
  key: archived?.key ?? null,
  records: archived?.json ?? null,
})

const prepareOne = (isArchived: boolean) =>
  prepare((v: Params<CallerValues & ArchiveValues & { entryId: string }>) =>
    oneSql(
      detailFields(v.reader),
      sql`${fromLog}
        LEFT JOIN ${activationTraces} ${t} ON ${t.activationId} = ${l.activationId}
        WHERE ${l.id} = ${v.entryId} AND ${isVisibleTo(v.reader)}`,
      isArchived ? sql`${viewerCte(v)}, ${archivedLog(v)}` : viewerCte(v),
    ),
  )

const selectOne = prepareOne(false)
const selectOneArchived = prepareOne(true)

/**
 * Selects an entry with its arguments and trace, if the caller can see it.
 *
 * @param archived the file of the archive that holds it; else it is a stored one
 */
export const selectAuditEntry = (
  caller: Caller,
  entryId: string,
  archived?: ArchivedRecords,
): Statement<AuditDetail | undefined> =>
  mapStatement(
    (archived ? selectOneArchived : selectOne)({
      ...{ ...toValues(caller), entryId },
      ...toArchiveValues(archived),
    }),
    (row) => row && hideRequesters(row),
  )
