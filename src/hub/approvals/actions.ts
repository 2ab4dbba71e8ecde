import { batch } from '../../shared/db/batch'
import type { AppError } from '../../shared/errors'
import type { ActionContext } from '../action-context'
import { recordIfChanged } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runActionOnce } from '../idempotency/run-once'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { actorReader } from '../viewers/reader'
import { approvalErrors } from './errors'
import { type ApprovalRow, selectApproval } from './queries'
import { type ApprovalUpdate, decideApproval, decisionStatements } from './write-queries'

/** A decision as a person submits it. */
export interface Decision {
  decision: 'approve' | 'approve_activation' | 'deny'
  note: string
}

/**
 * Approves or denies a pending call. The decision and the inbox item that resumes the agent are one
 * batch, so neither exists without the other; then the agent is woken. Idempotent for the same decision.
 *
 * @throws NOT_FOUND, CONFLICT when the call was decided differently, expired or cancelled
 */
export async function submitDecision(
  context: ActionContext,
  actor: Actor,
  id: string,
  decision: Decision,
): Promise<IdempotentResult<ApprovalRow>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'approvals.decide', input: [id, decision] }
  const now = clock.now()
  return runActionOnce(db, once, now, () =>
    saveDecision(context, {
      id,
      status: decision.decision === 'deny' ? 'denied' : 'approved',
      scope: decision.decision === 'approve_activation' ? 'activation' : 'once',
      by: accountId,
      note: decision.note,
      now,
    }),
  )
}

async function saveDecision(context: ActionContext, verdict: ApprovalUpdate): Promise<ApprovalRow> {
  const token = await armSweep(context)
  const { isDecided, row } = await batch(context.db, {
    isDecided: decideApproval(verdict),
    entry: recordIfChanged(context, verdict.by, {
      action: verdict.status === 'denied' ? 'approval.deny' : 'approval.approve',
      ...{ targetType: 'approval', targetId: verdict.id, after: { scope: verdict.scope } },
    }),
    following: decisionStatements(verdict.id, verdict.now),
    row: selectApproval(verdict.id, actorReader({ accountId: verdict.by, activationId: null })),
  })
  const woken = row?.activationId ? [{ accountId: row.agentId }] : []
  context.defer(wakeAgents(context, woken, token))
  if (!row) throw approvalErrors.notFound()
  if (!isDecided && !isSame(row, verdict)) throw toRefusal(row, verdict)
  return row
}

const isSame = (row: ApprovalRow, { status, scope, by, note }: ApprovalUpdate): boolean =>
  row.status === status && row.scope === scope && row.decidedById === by && row.note === note

const conflicts: Record<ApprovalRow['status'], (by: string | null) => AppError> = {
  pending: approvalErrors.expired,
  expired: approvalErrors.expired,
  cancelled: approvalErrors.cancelled,
  approved: approvalErrors.alreadyApproved,
  denied: approvalErrors.alreadyDenied,
}

/** Returns the error for an approval that is no longer pending, whose time has passed, or that has no run. */
const toRefusal = (row: ApprovalRow, { scope, now }: ApprovalUpdate): AppError => {
  const isOpen = row.status === 'pending' && row.expiresAt > now
  return isOpen && scope === 'activation'
    ? approvalErrors.onceOnly()
    : conflicts[row.status](row.decidedBy)
}
