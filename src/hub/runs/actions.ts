import * as z from 'zod'
import { runLists } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { ActivationId } from '../../shared/ids'
import { shownText } from '../../shared/texts'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { type IdempotentResult, runActionOnce } from '../database/run-once'
import { cancellationStatements, dropJoinedItems } from '../inbox/stop-queries'
import { armSweep, wakeAgents } from '../inbox/wake'
import {
  type CancellableActivation,
  deleteRunView,
  markCancelRequested,
  type RunView,
  saveRunView,
  selectCancellable,
} from './list-queries'

/** Errors of activations, as users read them. */
export const activationRequestErrors = {
  notFound: () => notFound('run'),
  noTrace: () => notFound('trace', 'The run has not started, or its trace is no longer stored.'),
  cancelForbidden: () =>
    new AppError('FORBIDDEN', 'Only an admin or a requester can stop this run.', {
      hint: 'Ask a requester or an admin to stop the run.',
    }),
  alreadyEnded: () =>
    new AppError('TOO_LATE', 'This run has already ended.', {
      hint: 'Open the run to see its result.',
    }),
  agentUnreachable: (cause: unknown) =>
    new AppError('UNAVAILABLE', 'The agent cannot be reached.', {
      hint: 'Try again in a few seconds.',
      cause,
    }),
}

/** Answer to a cancel request. */
interface CancelResult {
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

/** Errors of saved views, as users read them. */
const runViewErrors = {
  tooMany: () =>
    new AppError('CONFLICT', `You can save at most ${runLists.viewsMax} views.`, {
      hint: 'Delete a view, then save this one.',
    }),
}

/** A view as people send it. */
export const runViewInput = z.object({
  name: shownText.max(runLists.viewNameCharsMax),
  query: z.string().max(runLists.viewQueryCharsMax),
})

/** Saves a filter of the list of runs under a name, in place of one with that name. @throws CONFLICT for too many */
export async function saveView(
  { db, clock }: ActionContext,
  { accountId }: Actor,
  view: RunView,
): Promise<void> {
  if (!(await run(db, saveRunView({ ...view, accountId, now: clock.now() })))) {
    throw runViewErrors.tooMany()
  }
}

/** Deletes a view of the account. Repeating changes nothing. */
export const deleteView = (
  { db }: ActionContext,
  { accountId }: Actor,
  name: string,
): Promise<void> => run(db, deleteRunView({ accountId, name }))
