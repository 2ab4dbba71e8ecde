import { AppError, notFound } from '../../errors'
import type { ActivationId } from '../../ids'
import type { ActionContext } from '../action-context'
import { followCancellation } from '../approvals/write-queries'
import type { Actor } from '../contract'
import { actOnce, type Done } from '../idempotency/run-once'
import { armSweep, wakeAll } from '../inbox/deliver'
import { type Cancellable, selectCancellable } from './list-queries'

export interface Cancelled {
  cancelled: ActivationId
}

/**
 * Asks an agent to stop what it does; it says so in the thread, and what it spent is settled (L34).
 *
 * @throws NOT_FOUND, FORBIDDEN for others than an admin and who asked, TOO_LATE when it is over or
 *   its commit is pending
 */
export async function cancelActivation(
  context: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
): Promise<Done<Cancelled>> {
  const { db, clock } = context
  const once = {
    accountId: actor.accountId,
    key: actor.idempotencyKey,
    action: 'activations.cancel',
    input: id,
  }
  return actOnce(db, once, clock.now(), async () => {
    const activation = await findCancellable(context, actor, isAdmin, id)
    await stop(context, activation)
    return { cancelled: activation.id }
  })
}

/** @throws TOO_LATE, UNAVAILABLE */
async function stop(context: ActionContext, activation: Cancellable): Promise<void> {
  const isStopped =
    activation.state !== 'done' &&
    ((await markStopped(context, activation)) || (await stopRunning(context, activation)))
  if (!isStopped) {
    throw new AppError('TOO_LATE', 'This activation is over.', {
      hint: `See what came of it: GET /api/v1/activations/${activation.id}`,
    })
  }
}

async function findCancellable(
  { db }: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
): Promise<Cancellable> {
  const activation = await selectCancellable(db, id, actor.accountId).first<Cancellable>()
  if (!activation) throw notFound('activation')
  if (isAdmin || activation.isAsker === 1) return activation
  throw new AppError('FORBIDDEN', 'Only an admin or who asked may cancel this.', {
    hint: 'Use the key of the account that asked the agent.',
  })
}

/**
 * What is parked is asleep: it resumes to end, as after a decision. What runs may park at any moment,
 * so it is marked before its agent is asked: whichever comes first, it does not wait for people. True
 * when that is all there is to do.
 */
async function markStopped(context: ActionContext, { agentId, id }: Cancellable): Promise<boolean> {
  const { db, clock } = context
  const now = clock.now()
  const token = await armSweep(context)
  const [marked] = await db.d1.batch<{ state: Cancellable['state'] }>([
    db.d1
      .prepare(`UPDATE activations SET cancel_requested_at = coalesce(cancel_requested_at, ?2)
        WHERE id = ?1 AND state <> 'done' RETURNING state`)
      .bind(id, now),
    ...followCancellation(db, id, now),
  ])
  if (marked?.results[0]?.state !== 'parked') return false
  context.defer(wakeAll(context, [{ accountId: agentId }], token))
  return true
}

async function stopRunning(
  { agents }: ActionContext,
  { agentId, id }: Cancellable,
): Promise<boolean> {
  try {
    return await agents.cancel(agentId, id)
  } catch (cause) {
    throw new AppError('UNAVAILABLE', 'The agent cannot be reached just now.', {
      hint: 'Try again in a few seconds.',
      cause,
    })
  }
}
