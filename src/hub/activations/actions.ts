import { batch, run } from '../../shared/db/batch'
import type { ActivationId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runActionOnce } from '../idempotency/run-once'
import { cancellationStatements, dropJoinedItems } from '../inbox/cancellation-queries'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { activationRequestErrors } from './errors'
import { type CancellableActivation, markCancelRequested, selectCancellable } from './list-queries'

/** Answer to a cancel request. */
export interface CancelResult {
  cancelled: ActivationId
}

/**
 * Cancels an activation. The agent posts a notice in the thread, and the money spent so far is settled.
 *
 * @throws NOT_FOUND; FORBIDDEN for anyone but an admin or a requester; TOO_LATE when the activation
 *   has ended or its commit is pending
 */
export async function cancelActivation(
  context: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
): Promise<IdempotentResult<CancelResult>> {
  const { db, clock } = context
  const once = {
    accountId: actor.accountId,
    key: actor.idempotencyKey,
    action: 'activations.cancel',
    input: id,
  }
  return runActionOnce(db, once, clock.now(), async () => {
    const activation = await findCancellable(context, actor, isAdmin, id)
    await cancelOrThrow(context, actor, activation)
    return { cancelled: activation.id }
  })
}

/** Marks the activation, and stops its agent when it runs. @throws TOO_LATE, UNAVAILABLE */
async function cancelOrThrow(
  context: ActionContext,
  actor: Actor,
  activation: CancellableActivation,
): Promise<void> {
  const isCancelled =
    activation.state !== 'done' &&
    ((await markCancelled(context, actor, activation)) ||
      (await cancelRunning(context, activation)))
  if (!isCancelled) {
    throw activationRequestErrors.alreadyEnded()
  }
}

async function findCancellable(
  { db }: ActionContext,
  actor: Actor,
  isAdmin: boolean,
  id: string,
): Promise<CancellableActivation> {
  const activation = await run(db, selectCancellable({ id, accountId: actor.accountId }))
  if (!activation) throw activationRequestErrors.notFound()
  if (isAdmin || activation.isRequester) return activation
  throw activationRequestErrors.cancelForbidden()
}

/**
 * Marks an activation as cancelled in the database. Returns true for a parked activation, which is
 * woken to end itself. A running activation can park at any moment, so it is marked before its agent
 * is asked to stop: it then never waits for an approval.
 */
async function markCancelled(
  context: ActionContext,
  { accountId }: Actor,
  { agentId, id, isRequester }: CancellableActivation,
): Promise<boolean> {
  const { db, clock } = context
  const now = clock.now()
  const token = await armSweep(context)
  const { marked } = await batch(db, {
    marked: markCancelRequested(id, now),
    entry: isRequester
      ? null
      : recordAdminAction(context, accountId, {
          action: 'activation.cancel',
          targetType: 'activation',
          targetId: id,
        }),
    cancellation: cancellationStatements(id, now),
    joined: dropJoinedItems({ activationId: id, by: accountId, now }),
  })
  if (marked?.state !== 'parked') return false
  context.defer(wakeAgents(context, [{ accountId: agentId }], token))
  return true
}

async function cancelRunning(
  { agents }: ActionContext,
  { agentId, id }: CancellableActivation,
): Promise<boolean> {
  try {
    return await agents.cancel(agentId, id)
  } catch (cause) {
    throw activationRequestErrors.agentUnreachable(cause)
  }
}
