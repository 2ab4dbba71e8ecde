import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { selectOwned } from '../accounts/owned-sql'
import type { ActionContext } from '../action-context'
import { cancelActivation } from '../activations/actions'
import type { Actor } from '../contract/hub'
import { accountTag } from '../contract/live-event'
import { changeAccess } from '../live/close-sockets'
import { selectRunsFor } from './queries'

/** Makes a change that ends what an account and those that it claimed read, and closes their sockets. */
export async function endReading<Result>(
  context: ActionContext,
  accountId: AccountId,
  change: () => Promise<Result>,
): Promise<Result> {
  const owned = await run(context.db, selectOwned(accountId))
  const tags = [accountId, ...owned.map(({ id }) => id)].map(accountTag)
  return changeAccess(context, tags, change)
}

/**
 * Cancels the runs that act for nobody but an account and those that it claimed, and the runs of those.
 * Runs that they share with others go on.
 */
export async function cancelRuns(
  context: ActionContext,
  actor: Actor,
  requester: AccountId,
): Promise<void> {
  const { runs } = await batch(context.db, { runs: selectRunsFor(requester) })
  for (const { id } of runs) {
    await cancelActivation(context, { ...actor, idempotencyKey: null }, true, id).catch(
      (error: unknown) => context.log.error('failed to cancel a run', { activation: id, error }),
    )
  }
}
