import { AppError, notFound } from '../../errors'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract'
import { actOnce, type Done } from '../idempotency/run-once'
import { armSweep, wakeAll } from '../inbox/deliver'
import { type ApprovalRow, selectApproval } from './queries'
import { decideApproval, followDecision, type Verdict } from './write-queries'

export interface Decision {
  decision: 'approve' | 'approve_activation' | 'deny'
  note: string
}

/**
 * Decides on a call that waits. The decision and what makes the agent go on are one batch, so there
 * is never one without the other (M7, L30); then the agent is woken. Saying the same again is harmless.
 *
 * @throws NOT_FOUND, CONFLICT when it is decided otherwise, expired, or not needed any more
 */
export async function decide(
  context: ActionContext,
  actor: Actor,
  id: string,
  decision: Decision,
): Promise<Done<ApprovalRow>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'approvals.decide', input: [id, decision] }
  const now = clock.now()
  return actOnce(db, once, now, () =>
    write(context, {
      id,
      status: decision.decision === 'deny' ? 'denied' : 'approved',
      scope: decision.decision === 'approve_activation' ? 'activation' : 'once',
      by: accountId,
      note: decision.note,
      now,
    }),
  )
}

async function write(context: ActionContext, verdict: Verdict): Promise<ApprovalRow> {
  const { db } = context
  const token = await armSweep(context)
  const results = await db.d1.batch<unknown>([
    decideApproval(db, verdict),
    ...followDecision(db, verdict.id, verdict.now),
    selectApproval(db, verdict.id),
  ])
  const row = results.at(-1)?.results[0] as ApprovalRow | undefined
  const woken = row?.activationId ? [{ accountId: row.agentId }] : []
  context.defer(wakeAll(context, woken, token))
  if (!row) throw notFound('approval')
  const isMine = (results[0]?.meta.changes ?? 0) > 0 || isSame(row, verdict)
  if (!isMine) throw tooLate(row)
  return row
}

const isSame = (row: ApprovalRow, { status, scope, by, note }: Verdict): boolean =>
  row.status === status && row.scope === scope && row.decidedById === by && row.note === note

function tooLate({ status, decidedBy }: ApprovalRow): AppError {
  const words = {
    pending: 'The time to decide this has passed.',
    expired: 'The time to decide this has passed.',
    cancelled: 'This is not needed any more: the activation was stopped.',
    approved: `${decidedBy ?? 'Somebody'} has approved this already.`,
    denied: `${decidedBy ?? 'Somebody'} has denied this already.`,
  }
  return new AppError('CONFLICT', words[status], { hint: 'See GET /api/v1/approvals.' })
}
