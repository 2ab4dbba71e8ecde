import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { cancelActivation } from '../activations/actions'
import type { Actor } from '../contract/hub'
import { selectRunsFor, selectWatchedAgents } from './queries'

/**
 * Closes the open sockets with any of the tags, of live pages and of runs. The next request of their
 * owners is refused anyway, so a failure is logged only.
 */
export async function closeSockets(context: ActionContext, tags: string[]): Promise<void> {
  const { db, live, agents, log } = context
  try {
    const watched = await run(db, selectWatchedAgents())
    await Promise.all([
      live.disconnect?.(tags),
      ...watched.map(({ agentId }) => agents.disconnect(agentId, tags)),
    ])
  } catch (error) {
    log.error('failed to close sockets', { error })
  }
}

/** Cancels the runs that act for an account alone. Those that it shares with others go on. */
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
