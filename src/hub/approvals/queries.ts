import type { AccountId, ActivationId } from '../../shared/ids'
import { type TraceAccessColumns, traceAccessColumns } from '../activations/trace-access'
import type { ApprovalStatus, AuthorizationQuery } from '../contract/hub'
import type { Db } from '../db'
import { type Credential, viewerParams, viewerSql } from '../keys/queries'

/** Selects the approvals that apply to a call; see `KnownApproval`. */
export const selectApprovalsForCall = (
  db: Db,
  question: AuthorizationQuery,
): D1PreparedStatement => {
  const { accountId, activationId, tool, argumentsHash } = question
  const columns = `p.id, p.call_id AS callId, p."grant", p.arguments_hash AS argumentsHash, p.status, p.scope,
    u.name AS by, p.note, p.decided_at AS decidedAt
    FROM approvals p LEFT JOIN accounts u ON u.id = p.decided_by`
  if (activationId !== null) {
    return db.d1
      .prepare(
        `SELECT ${columns} WHERE p.activation_id = ?1 AND p.tool = ?2 ORDER BY p.created_at DESC`,
      )
      .bind(activationId, tool)
  }
  return db.d1
    .prepare(
      `SELECT ${columns} WHERE p.activation_id IS NULL AND p.account_id = ?1 AND p.tool = ?2
         AND p.arguments_hash = ?3 AND p.used_by IS NULL ORDER BY p.created_at DESC, p.id DESC LIMIT 1`,
    )
    .bind(accountId, tool, argumentsHash)
}

/** Selects the decisions on the activation that the LOAD request `requestId` resumed. */
export const selectDecisions = (db: Db, requestId: ActivationId): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT p.call_id AS callId, p.status AS decision, u.name AS by, p.note
       FROM approvals p LEFT JOIN accounts u ON u.id = p.decided_by
       WHERE p.activation_id = (SELECT id FROM activations WHERE resumed_by = ?1)
         AND p.status IN ('approved', 'denied', 'expired') ORDER BY p.created_at, p.id`,
    )
    .bind(requestId)

/** An approval as the API and the page read it. */
export interface ApprovalRow extends TraceAccessColumns {
  id: string
  row: number
  agentId: AccountId
  agentName: string
  agentKind: 'human' | 'agent'
  activationId: string | null
  callId: string
  tool: string
  grant: string
  tier: 'read' | 'write' | 'destructive'
  arguments: string
  status: ApprovalStatus
  scope: 'once' | 'activation'
  decidedBy: string | null
  decidedById: string | null
  note: string
  createdAt: number
  expiresAt: number
  decidedAt: number | null
  postId: string | null
  postTitle: string | null
}

const columns = `
  p.id, p.rowid AS row, a.id AS agentId, a.name AS agentName, a.kind AS agentKind, p.activation_id AS activationId,
  p.call_id AS callId, p.tool, p."grant", p.tier, p.arguments, p.status, p.scope, u.name AS decidedBy,
  u.id AS decidedById, p.note, p.created_at AS createdAt, p.expires_at AS expiresAt, p.decided_at AS decidedAt,
  t.id AS postId, t.title AS postTitle, ${traceAccessColumns}
  FROM approvals p JOIN accounts a ON a.id = p.account_id
  LEFT JOIN accounts u ON u.id = p.decided_by
  LEFT JOIN activations x ON x.id = p.activation_id
  LEFT JOIN posts t ON t.id = x.post_id AND t.deleted_at IS NULL`

/**
 * Whether the viewer can see an approval: admins see all, others those of their requests and their own
 * calls. `viewer` is in scope.
 */
const isVisible = `
  EXISTS (SELECT 1 FROM viewer v WHERE v.role = 'admin' OR v.id = p.account_id
    OR EXISTS (SELECT 1 FROM inbox_items i WHERE i.claimed_by = p.activation_id
      AND i.type <> 'approval_decision' AND i.from_account_id = v.id))`

/** Filter and page of approvals. */
export interface ApprovalPageRequest {
  /** Null: any status. */
  status: ApprovalStatus | null
  /** Keyset: time and row of the last approval seen. */
  before: [number, string] | null
  limit: number
}

const farFuture = 9_000_000_000_000_000

/**
 * Selects a page of approvals that the viewer can see, newest first. The viewer is a subquery, so
 * authentication costs no extra round trip.
 */
export function selectApprovals(
  db: Db,
  viewer: { credential: Credential; now: number },
  list: ApprovalPageRequest,
): D1PreparedStatement {
  const [at, row] = list.before ?? [farFuture, '0']
  return db.d1
    .prepare(
      `WITH viewer AS (${viewerSql}) SELECT ${columns}
       WHERE (?5 IS NULL OR p.status = ?5) AND (p.created_at, p.rowid) < (?6, ?7) AND ${isVisible}
       ORDER BY p.created_at DESC, p.rowid DESC LIMIT ?8`,
    )
    .bind(...viewerParams(viewer.credential, viewer.now), list.status, at, Number(row), list.limit)
}

/** Selects one approval. */
export const selectApproval = (db: Db, id: string): D1PreparedStatement =>
  db.d1.prepare(`SELECT ${columns} WHERE p.id = ?1`).bind(id)
