import { run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { AccountId } from '../../shared/ids'
import type { Log } from '../../shared/log'
import type { ActionContext } from '../action-context'
import { isOfAccountOrKey } from '../contract/live-event'
import { selectWatchedAgents } from './queries'

/**
 * Closes the open sockets with any of the tags, of live pages, runs and runners; for a moment none with them can
 * be opened. The next request of their owners is checked anyway, so a failure is logged only.
 */
export async function closeSockets(
  { db, live, agents, log }: ActionContext,
  tags: string[],
): Promise<void> {
  if (tags.length === 0) return
  // A runner belongs to no community.
  const runnerTags = tags.filter(isOfAccountOrKey)
  await settle(log, [
    live.disconnect?.(tags),
    runnerTags.length === 0 ? null : agents.runners.disconnect(runnerTags),
    forWatchedAgents(db, (agentId) => agents.disconnect(agentId, tags)),
  ])
}

/** Closes all open sockets with 1001 and ends the turns of runs, because the hub is about to stop. A failure is logged only. */
export const announceStop = ({ db, live, agents, log }: ActionContext): Promise<void> =>
  settle(log, [
    live.announceStop?.(),
    agents.runners.announceStop(),
    agents.endTurns(),
    forWatchedAgents(db, (agentId) => agents.announceStop(agentId)),
  ])

async function settle(log: Log, closing: unknown[]): Promise<void> {
  for (const result of await Promise.allSettled(closing)) {
    if (result.status === 'rejected') log.error('failed to close sockets', { error: result.reason })
  }
}

async function forWatchedAgents(
  db: Db,
  close: (agentId: AccountId) => Promise<void>,
): Promise<void> {
  const watched = await run(db, selectWatchedAgents())
  await Promise.all(watched.map(({ agentId }) => close(agentId)))
}

/**
 * Makes a change after which some watchers may read less. Their sockets are closed before it, so that none
 * receives an event of after it, and after it, so that none stays open that was allowed before. Those who
 * still read connect again.
 *
 * @param tags of the watchers; none: nobody reads less
 */
export async function changeAccess<Result>(
  context: ActionContext,
  tags: string[],
  change: () => Promise<Result>,
): Promise<Result> {
  await closeSockets(context, tags)
  const result = await change()
  await closeSockets(context, tags)
  return result
}
