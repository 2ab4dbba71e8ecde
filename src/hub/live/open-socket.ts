import { run } from '../../shared/db/batch'
import { findSocketOwner } from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { liveErrors } from './live-request'
import { selectWatchedAgents } from './queries'

/**
 * Opens the socket of a watcher, on a topic or on an agent, when its account or address may have one more.
 *
 * @param tags of `toWatcherTags`
 * @throws RATE_LIMITED
 */
export async function openSocket(
  context: Pick<ActionContext, 'db' | 'live' | 'agents' | 'clock'>,
  tags: readonly string[],
  upgrade: () => Promise<Response>,
): Promise<Response> {
  const { live, clock } = context
  const owner = findSocketOwner(tags)
  if (!owner || !live.admit) return upgrade()
  const count = () => countOnAgents(context, owner.tag)
  const answer = await live.admit(owner, clock.now(), count, upgrade)
  if (!answer) throw liveErrors.tooManySockets(owner)
  return answer
}

async function countOnAgents(
  { db, agents }: Pick<ActionContext, 'db' | 'agents'>,
  tag: string,
): Promise<number> {
  const watched = await run(db, selectWatchedAgents())
  const counts = await Promise.all(
    // An object that does not answer is starting, and has no sockets.
    watched.map(({ agentId }) => agents.countSockets(agentId, tag).catch(() => 0)),
  )
  return counts.reduce((total, each) => total + each, 0)
}
