import type { AccountId } from '../../shared/ids'
import type { AccountKind, AuditEntry, Task } from '../contract/hub'
import type { Db } from '../db'
import { type Credential, viewerParams, viewerSql } from '../keys/queries'

/** An audit entry as the page and the API present it. */
export interface AuditRow {
  id: string
  at: number
  accountId: AccountId
  accountName: string
  accountKind: AccountKind
  activationId: string | null
  /** Task of its activation; null for a call of an external agent or program. */
  task: Task | null
  /** Requester of the task; null without one. */
  askedBy: string | null
  askedByKind: AccountKind | null
  callId: string
  tool: string
  grant: string
  argumentsHash: string
  decision: AuditEntry['decision']
  outcome: AuditEntry['outcome']
  /** Reason of a refusal, as returned to the caller. */
  reason: string | null
  durationMs: number | null
  resultBytes: number | null
}

/** An audit entry with its arguments and its trace. */
export interface AuditDetail extends AuditRow {
  /** Arguments of a call of an external agent or program. */
  arguments: string | null
  /** JSON of its activation's trace, which holds arguments and result; null when not stored. */
  trace: string | null
}

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
}

const columns = `
  l.id, l.created_at AS at, a.id AS accountId, a.name AS accountName, a.kind AS accountKind,
  l.activation_id AS activationId, x.task, asker.name AS askedBy, asker.kind AS askedByKind,
  l.call_id AS callId, l.tool, l."grant", l.arguments_hash AS argumentsHash, l.decision, l.outcome, l.reason,
  l.duration_ms AS durationMs, l.result_bytes AS resultBytes`

/** CROSS JOIN keeps the log outermost, so that its index provides the order and the limit. */
const tables = `audit_log l CROSS JOIN accounts a ON a.id = l.account_id
  LEFT JOIN activations x ON x.id = l.activation_id
  LEFT JOIN accounts asker ON asker.id = (SELECT i.from_account_id FROM inbox_items i
    WHERE i.claimed_by = l.activation_id AND i.is_task = 1 ORDER BY i.created_at LIMIT 1)`

/**
 * Condition: the viewer can see the entry. Admins see all; others see their own calls, and calls of
 * agents that ran a definition which they wrote, arguments included. `viewer` is in scope.
 */
const isVisible = `EXISTS (SELECT 1 FROM viewer v WHERE v.role = 'admin' OR v.id = l.account_id
  OR EXISTS (SELECT 1 FROM agent_definitions d WHERE d.account_id = x.agent_id
    AND d.version = x.definition_version AND d.created_by = v.id))`

const farFuture = 9_000_000_000_000_000

interface Caller {
  credential: Credential
  now: number
}

/** Selects the visible entries that match the filter, newest first. */
export function selectAudit(db: Db, caller: Caller, list: AuditList): D1PreparedStatement {
  const [at, id] = list.before ?? [farFuture, '']
  const byAccount = 'l.account_id = (SELECT id FROM accounts WHERE name = ?7)'
  return db.d1
    .prepare(
      `WITH viewer AS (${viewerSql}) SELECT ${columns} FROM ${tables}
       WHERE (l.created_at, l.id) < (?5, ?6) AND ${isVisible}
         AND ${list.account === undefined ? '?7 IS NULL' : byAccount}
         AND (?8 IS NULL OR l.tool GLOB ?8) AND (?9 IS NULL OR l.decision = ?9)
         AND (?10 IS NULL OR l.outcome = ?10)
         AND l.created_at >= ?11 AND l.created_at < ?12
       ORDER BY l.created_at DESC, l.id DESC LIMIT ?13`,
    )
    .bind(
      ...viewerParams(caller.credential, caller.now),
      ...[at, id, list.account ?? null, list.tool ?? null],
      ...[list.decision ?? null, list.outcome ?? null],
      ...[list.since ?? 0, list.until ?? farFuture, list.limit],
    )
}

/** Selects an entry with its arguments and trace, if the caller can see it. */
export const selectAuditEntry = (db: Db, caller: Caller, id: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH viewer AS (${viewerSql}) SELECT ${columns}, l.arguments, t.trace FROM ${tables}
       LEFT JOIN activation_traces t ON t.activation_id = l.activation_id
       WHERE l.id = ?5 AND ${isVisible}`,
    )
    .bind(...viewerParams(caller.credential, caller.now), id)
