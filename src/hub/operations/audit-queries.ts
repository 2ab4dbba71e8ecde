import { getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { audit } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { AuditEntry } from '../contract/hub'
import { optionalPersonSql, personSql } from '../rules/people-sql'
import { canReadRunSql, isRunShownSql, traceAccessColumns } from '../rules/traces-sql'
import { accounts } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { adminLog, archiveFiles, auditLog } from '../schema/audit'
import { agentDefinitions } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'
import type { ArchivedRecords } from './archive-view'

/**
 * Whether a name matches a filter: it equals the filter, or begins with the part before a final `*`.
 * Not GLOB or LIKE: D1 refuses patterns of more than 50 bytes.
 *
 * @param filter a name, a prefix and `*`, or null, which every name matches
 */
const matchesNameSql = (name: SQLWrapper, filter: SQLWrapper): SQL =>
  sql`(${filter} IS NULL OR ${name} = ${filter}
    OR (substr(${filter}, -1) = '*' AND instr(${name}, rtrim(${filter}, '*')) = 1))`

interface EntryValues extends Omit<AuditEntry, 'arguments' | 'reason' | 'ruleId'> {
  arguments: string | null
  reason: string | null
  ruleId: string | null
  id: string
  accountId: AccountId
  activationId: ActivationId | null
  approvalId: string | null
}

const insertEntry = prepare((v: Params<EntryValues>) =>
  write(
    insertSelect(
      auditLog,
      {
        id: v.id,
        accountId: v.accountId,
        activationId: v.activationId,
        callId: v.callId,
        tool: v.tool,
        grant: v.grant,
        argumentsHash: v.argumentsHash,
        decision: v.decision,
        outcome: v.outcome,
        durationMs: v.durationMs,
        resultBytes: v.resultBytes,
        createdAt: v.at,
        arguments: v.arguments,
        reason: v.reason,
        ruleId: v.ruleId,
      },
      sql`WHERE ${v.approvalId} IS NULL OR EXISTS (SELECT 1 FROM ${approvals}
        WHERE ${approvals.id} = ${v.approvalId} AND ${approvals.usedBy} = ${v.id})`,
    ),
  ),
)

/**
 * Inserts an audit entry before its call runs.
 *
 * @param approvalId if given, the entry is inserted only if it used this approval
 */
export const insertAuditEntry = (
  id: string,
  accountId: AccountId,
  entry: AuditEntry,
  activationId: ActivationId | null,
  approvalId: string | null = null,
): Statement<void> =>
  insertEntry({
    ...entry,
    id,
    accountId,
    activationId,
    approvalId,
    arguments: entry.arguments == null ? null : cutText(entry.arguments, audit.argumentsCharsMax),
    reason: entry.reason ?? null,
    ruleId: entry.ruleId ?? null,
  })

type AuditResult = Pick<AuditEntry, 'outcome' | 'durationMs' | 'resultBytes'>

const updateResult = prepare((v: Params<AuditResult & { id: string }>) =>
  write(
    updateSet(
      auditLog,
      { outcome: v.outcome, durationMs: v.durationMs, resultBytes: v.resultBytes },
      sql`WHERE ${auditLog.id} = ${v.id} AND ${auditLog.outcome} IS NULL`,
    ),
  ),
)

/** Sets the outcome of an entry; an entry that already has one stays unchanged. */
export const updateAuditResult = (
  id: string,
  { outcome, durationMs, resultBytes }: AuditResult,
): Statement<void> => updateResult({ id, outcome, durationMs, resultBytes })

const l = alias(auditLog, 'l')
const a = alias(accounts, 'a')
const x = alias(activations, 'x')
const requester = alias(accounts, 'requester')
const t = alias(activationTraces, 't')

const entryFields = (reader: SQLWrapper) => ({
  id: l.id,
  at: l.createdAt,
  account: personSql(a),
  activationId: l.activationId,
  /** Task of its activation; null for a call of an external agent or program. */
  task: nullable(x.task),
  /** Requester of the task; null without one, and of a run whose requesters the viewer does not see. */
  askedBy: optionalPersonSql(requester),
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

interface AuditFilter {
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
  row.isShown ? row : { ...row, askedBy: null, reason: null }

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
      ...toValues(caller),
      entryId,
      ...toArchiveValues(archived),
    }),
    (row) => row && hideRequesters(row),
  )

const entry = alias(adminLog, 'l')
const target = alias(accounts, 't')

const adminEntryFields = {
  id: entry.id,
  at: entry.createdAt,
  accountId: entry.accountId,
  /** Null when the account is deleted. */
  account: optionalPersonSql(a),
  action: entry.action,
  targetType: entry.targetType,
  targetId: entry.targetId,
  /** The account that the target is; null for other targets and deleted accounts. */
  target: optionalPersonSql(target),
  reason: entry.reason,
  before: entry.before,
  after: entry.after,
}

/** An entry of the admin log as the page and the API present it. */
export type AdminLogRow = RowOf<typeof adminEntryFields>

interface AdminLogFilter {
  /** Name or id of the account that acted. */
  account?: string | undefined
  /** Such as `role.change`, or `policy.*`. */
  action?: string | undefined
  /** Id of the target, or the name of an account. */
  target?: string | undefined
  /** Milliseconds since the epoch; `until` is exclusive. */
  since?: number | undefined
  until?: number | undefined
}

export interface AdminLogList extends AdminLogFilter {
  /** Keyset cursor: time and id of the last entry of the previous page. */
  before: [number, string] | null
  limit: number
}

interface AdminListValues extends ViewerValues {
  at: number
  id: string
  account: string | null
  action: string | null
  target: string | null
  since: number
  until: number
  limit: number
}

const selectPage = prepare((v: Params<AdminListValues>) =>
  manySql(
    adminEntryFields,
    sql`FROM ${adminLog} ${entry} LEFT JOIN ${accounts} ${a} ON ${a.id} = ${entry.accountId}
        LEFT JOIN ${accounts} ${target} ON ${target.id} = ${entry.targetId}
      WHERE (${entry.createdAt}, ${entry.id}) < (${v.at}, ${v.id})
        AND EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin')
        AND (${v.account} IS NULL OR ${entry.accountId} = ${v.account} OR ${a.name} = ${v.account})
        AND ${matchesNameSql(entry.action, v.action)}
        AND (${v.target} IS NULL OR ${entry.targetId} = ${v.target} OR ${target.name} = ${v.target})
        AND ${entry.createdAt} >= ${v.since} AND ${entry.createdAt} < ${v.until}
      ORDER BY ${entry.createdAt} DESC, ${entry.id} DESC LIMIT ${v.limit}`,
    viewerCte(v),
  ),
)

/** Selects the entries that match the filter, newest first; none for anybody but an admin. */
export function selectAdminLog(
  { credential, now }: { credential: Credential | null; now: number },
  list: AdminLogList,
): Statement<AdminLogRow[]> {
  const [at, id] = list.before ?? [farFuture, '']
  return selectPage({
    ...viewerValues(credential, now),
    at,
    id,
    limit: list.limit,
    account: list.account ?? null,
    action: list.action ?? null,
    target: list.target ?? null,
    since: list.since ?? 0,
    until: list.until ?? farFuture,
  })
}
