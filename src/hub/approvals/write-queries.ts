import { approvals } from '../../shared/config'
import { type AccountId, type ActivationId, uuidV7 } from '../../shared/ids'
import type { ApprovalRequest } from '../contract/hub'
import type { Db } from '../db'

/** Returns an id whose time part SQL copies into the ids that it creates. */
const idAt = (now: number): string => uuidV7(now, new Uint8Array(10))

/** SQL of a new UUIDv7 with the time of the id `like`. */
const newIdSql = (
  like: string,
): string => `substr(${like}, 1, 15) || substr(lower(hex(randomblob(2))), 1, 3) ||
  '-a' || substr(lower(hex(randomblob(2))), 1, 3) || '-' || lower(hex(randomblob(6)))`

/** Accounts that can decide: the admins of this hub. */
const approversSql = `SELECT id FROM accounts WHERE role = 'admin' AND kind = 'human' AND is_imported = 0`

const describeSql = (tool: string, args: string): string =>
  `substr('Wants to call ' || (${tool}) || ' ' || (${args}), 1, ${approvals.excerptChars})`

const isParked = `EXISTS (SELECT 1 FROM activations WHERE id = ?1 AND state = 'parked')`

const insertSql = `
  INSERT INTO approvals (id, account_id, activation_id, call_id, tool, "grant", tier, arguments, arguments_hash,
    created_at, expires_at)
  SELECT ?1 || ':' || (r.value ->> 'callId'), ?2, ?1, r.value ->> 'callId', r.value ->> 'tool', r.value ->> 'grant',
    r.value ->> 'tier', r.value ->> 'arguments', r.value ->> 'argumentsHash', ?4, ?4 + ${approvals.expiresMs}
  FROM json_each(?3) r WHERE ${isParked}
  ON CONFLICT (id) DO UPDATE SET status = 'pending', scope = 'once', decided_by = NULL, decided_at = NULL, note = '',
    arguments = excluded.arguments, arguments_hash = excluded.arguments_hash, "grant" = excluded."grant",
    tool = excluded.tool, tier = excluded.tier, created_at = excluded.created_at, expires_at = excluded.expires_at
  WHERE arguments_hash <> excluded.arguments_hash OR tool <> excluded.tool`

const notifyApproversSql = `
  INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, content, created_at, activation_id, approval_id)
  SELECT ${newIdSql('?5')}, u.id, 'approval_request', x.post_id, ?2,
    ${describeSql(`r.value ->> 'tool'`, `r.value ->> 'arguments'`)}, ?4, ?1, ?1 || ':' || (r.value ->> 'callId')
  FROM activations x, json_each(?3) r, (${approversSql}) u
  WHERE x.id = ?1 AND x.state = 'parked' AND NOT EXISTS (
    SELECT 1 FROM approvals WHERE id = ?1 || ':' || (r.value ->> 'callId')
      AND arguments_hash = r.value ->> 'argumentsHash' AND tool = r.value ->> 'tool')`

/**
 * Returns the statements that insert the approvers' inbox items and the approvals of a parked activation.
 * They belong to the batch that parks it, after its row has changed. A repeat inserts nothing.
 */
export function insertApprovals(
  db: Db,
  parked: {
    activationId: ActivationId
    agentId: AccountId
    requests: ApprovalRequest[]
    now: number
  },
): D1PreparedStatement[] {
  const { activationId, agentId, requests, now } = parked
  const list = JSON.stringify(requests)
  return [
    db.d1.prepare(notifyApproversSql).bind(activationId, agentId, list, now, idAt(now)),
    db.d1.prepare(insertSql).bind(activationId, agentId, list, now),
  ]
}

/** Returns the statements that request approval for an external call, unless it is already pending. */
export function insertExternalApproval(
  db: Db,
  pending: { id: string; accountId: AccountId; request: ApprovalRequest; now: number },
): D1PreparedStatement[] {
  const { id, accountId, request, now } = pending
  return [
    db.d1
      .prepare(
        `INSERT INTO approvals (id, account_id, call_id, tool, "grant", tier, arguments, arguments_hash, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9 + ${approvals.expiresMs}) ON CONFLICT DO NOTHING`,
      )
      .bind(
        id,
        accountId,
        request.callId,
        request.tool,
        request.grant,
        request.tier,
        request.arguments,
        request.argumentsHash,
        now,
      ),
    db.d1
      .prepare(
        `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, approval_id)
         SELECT ${newIdSql('?2')}, u.id, 'approval_request', p.account_id,
           ${describeSql('p.tool', 'p.arguments')}, p.created_at, p.id
         FROM approvals p, (${approversSql}) u WHERE p.id = ?1`,
      )
      .bind(id, idAt(now)),
  ]
}

/** Marks an approval of an external call as used by the audit entry `auditId`. */
export const markApprovalUsed = (db: Db, id: string, auditId: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE approvals SET used_by = ?2 WHERE id = ?1 AND status = 'approved' AND used_by IS NULL`,
    )
    .bind(id, auditId)

/** A decision to store; `now` is in milliseconds since the Unix epoch. */
export interface ApprovalUpdate {
  id: string
  status: 'approved' | 'denied'
  scope: 'once' | 'activation'
  by: AccountId
  note: string
  now: number
}

/**
 * Stores the decision of an approval that is pending and not expired. Approving for the activation also
 * approves its other pending calls of the same tool and grant.
 */
export const decideApproval = (db: Db, verdict: ApprovalUpdate): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE approvals SET status = ?2, scope = ?3, decided_by = ?4, note = ?5, decided_at = ?6
       FROM (SELECT id, activation_id, tool, "grant" FROM approvals
         WHERE id = ?1 AND status = 'pending' AND expires_at > ?6) AS own
       WHERE approvals.status = 'pending' AND (approvals.id = own.id OR (?3 = 'activation'
         AND approvals.activation_id = own.activation_id AND approvals.tool = own.tool
         AND approvals."grant" = own."grant"))`,
    )
    .bind(verdict.id, verdict.status, verdict.scope, verdict.by, verdict.note, verdict.now)

/** Expires overdue approvals; an expired approval counts as denied. */
export const expireApprovals = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE approvals SET status = 'expired', decided_at = ?1 WHERE status = 'pending' AND expires_at <= ?1`,
    )
    .bind(now)

/**
 * Inserts the inbox item that resumes a parked activation once none of its approvals is pending. It belongs
 * to the batch of the decision, so that neither exists without the other. `where` selects the approvals `p`
 * that were just decided; `?1` is now, `?2` an id with the time for new ids, `?3` onwards belong to `where`.
 */
const resumeItemsSql = (where: string): string => `
  INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task, activation_id)
  SELECT ${newIdSql('?2')}, x.agent_id, 'approval_decision', max(p.decided_by),
    CASE WHEN count(*) > 1 THEN count(*) || ' calls are decided.'
      ELSE max(p.tool) || ': ' || max(p.status) || '.' END, ?1, 1, x.id
  FROM approvals p JOIN activations x ON x.id = p.activation_id AND x.state = 'parked'
  WHERE ${where}
    AND NOT EXISTS (SELECT 1 FROM approvals o WHERE o.activation_id = x.id AND o.status = 'pending')
    AND NOT EXISTS (SELECT 1 FROM inbox_items i WHERE i.activation_id = x.id
      AND i.type = 'approval_decision' AND i.claimed_by IS NULL AND i.read_at IS NULL)
  GROUP BY x.id`

/** Notifies an external caller, which has no parked activation to resume. */
const notifyCallersSql = (where: string): string => `
  INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, approval_id)
  SELECT ${newIdSql('?2')}, p.account_id, 'approval_decision', p.decided_by,
    p.tool || ': ' || p.status || CASE WHEN p.note = '' THEN '.' ELSE '. ' || p.note END, ?1, p.id
  FROM approvals p WHERE p.activation_id IS NULL AND ${where}
    AND NOT EXISTS (SELECT 1 FROM inbox_items i WHERE i.approval_id = p.id AND i.type = 'approval_decision')`

/** Marks the approvers' items of decided approvals as read. */
const clearRequestsSql = (where: string): string => `
  UPDATE inbox_items SET read_at = ?1 WHERE type = 'approval_request' AND read_at IS NULL
    AND approval_id IN (SELECT p.id FROM approvals p WHERE ${where})`

/** Returns the statements that follow the decision of an approval and of those approved with it. */
export function decisionStatements(db: Db, id: string, now: number): D1PreparedStatement[] {
  const isJustDecided = (own: string) => `p.status IN ('approved', 'denied') AND p.decided_at = ?1
    AND (p.id = ${own} OR p.activation_id = (SELECT activation_id FROM approvals WHERE id = ${own}))`
  return [
    db.d1.prepare(resumeItemsSql(isJustDecided('?3'))).bind(now, idAt(now), id),
    db.d1.prepare(notifyCallersSql(isJustDecided('?3'))).bind(now, idAt(now), id),
    db.d1.prepare(clearRequestsSql(isJustDecided('?2'))).bind(now, id),
  ]
}

/** Cancels the pending approvals of a cancelled activation. */
const cancelApprovals = (db: Db, activationId: ActivationId, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `UPDATE approvals SET status = 'cancelled', decided_at = ?2
       WHERE activation_id = ?1 AND status = 'pending'
         AND EXISTS (SELECT 1 FROM activations WHERE id = ?1 AND cancel_requested_at IS NOT NULL)`,
    )
    .bind(activationId, now)

/**
 * Returns the statements that follow the cancellation of an activation, before or after it parked: its
 * approvals are cancelled, and it resumes to end.
 */
export function cancellationStatements(
  db: Db,
  activationId: ActivationId,
  now: number,
): D1PreparedStatement[] {
  const own = (id: string) => `p.activation_id = ${id} AND p.status <> 'pending'`
  const isCancelled = 'x.cancel_requested_at IS NOT NULL'
  return [
    cancelApprovals(db, activationId, now),
    db.d1
      .prepare(resumeItemsSql(`${own('?3')} AND ${isCancelled}`))
      .bind(now, idAt(now), activationId),
    db.d1.prepare(clearRequestsSql(own('?2'))).bind(now, activationId),
  ]
}

/** Returns the statements that follow the expiry of approvals at `now`. */
export function expiryStatements(db: Db, now: number): D1PreparedStatement[] {
  const isJustExpired = `p.status = 'expired' AND p.decided_at = ?1`
  return [
    db.d1.prepare(resumeItemsSql(isJustExpired)).bind(now, idAt(now)),
    db.d1.prepare(notifyCallersSql(isJustExpired)).bind(now, idAt(now)),
    db.d1.prepare(clearRequestsSql(isJustExpired)).bind(now),
  ]
}
