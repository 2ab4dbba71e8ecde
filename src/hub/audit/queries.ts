import { sql } from 'drizzle-orm'
import { audit } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { AuditEntry } from '../contract/hub'
import { approvals } from '../schema/approvals'
import { auditLog } from '../schema/audit'

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
