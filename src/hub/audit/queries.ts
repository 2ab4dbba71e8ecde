import { audit } from '../../shared/config'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { AuditEntry } from '../contract/hub'
import type { Db } from '../db'

/**
 * Inserts an audit entry before its call runs.
 *
 * @param approvalId if given, the entry is inserted only if it used this approval
 */
export const insertAuditEntry = (
  db: Db,
  id: string,
  accountId: AccountId,
  entry: AuditEntry,
  activationId: ActivationId | null,
  approvalId: string | null = null,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO audit_log (id, account_id, call_id, tool, "grant", arguments_hash, decision, outcome, duration_ms, result_bytes, created_at, arguments, activation_id, reason)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14
       WHERE ?15 IS NULL OR EXISTS (SELECT 1 FROM approvals WHERE id = ?15 AND used_by = ?1)`,
    )
    .bind(
      id,
      accountId,
      entry.callId,
      entry.tool,
      entry.grant,
      entry.argumentsHash,
      entry.decision,
      entry.outcome,
      entry.durationMs,
      entry.resultBytes,
      entry.at,
      entry.arguments?.slice(0, audit.argumentsCharsMax) ?? null,
      activationId,
      entry.reason ?? null,
      approvalId,
    )

/** Sets the outcome of an entry; an entry that already has one stays unchanged. */
export const updateAuditResult = (
  db: Db,
  id: string,
  result: Pick<AuditEntry, 'outcome' | 'durationMs' | 'resultBytes'>,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE audit_log SET outcome = ?2, duration_ms = ?3, result_bytes = ?4
       WHERE id = ?1 AND outcome IS NULL`,
    )
    .bind(id, result.outcome, result.durationMs, result.resultBytes)
