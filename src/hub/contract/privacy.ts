/** Whose private data a run reads and writes. Part of the hub's contract. */
import type { AccountId, CommunityId } from '../../shared/ids'
import type { Task } from './activations'
import type { ClosedCommunity } from './threads'

/** Whoever alone has a part of an agent's data: a requester, or the readers of a community. */
export type DataOwner = AccountId | CommunityId

export interface Privacy {
  /** Whose private data the run can read: its only requester, or its community; null: it reads none. */
  reader: DataOwner | null
  /** Whose runs alone can read what the run saves; null: runs for anybody can. */
  privateTo: DataOwner | null
  /** Name of the community that the run's writes stay in; absent when everybody reads its thread. */
  community?: string
}

/** The privacy of calls outside of a run, and of runs for the hub itself or for several requesters. */
export const noPrivacy: Privacy = { reader: null, privateTo: null }

/**
 * Decides whose private data a run reads and writes. Private data is read only for a single requester,
 * because several would read each other's. What comes from a direct message or from a task that a person
 * gave by hand stays with its requester; what comes from a thread is for all who read the thread.
 */
export function decidePrivacy(run: {
  task: Task
  requesterIds: AccountId[]
  /** The community of the thread, unless everybody reads it. */
  closed?: ClosedCommunity | null
}): Privacy {
  if (run.closed) {
    const { id, name } = run.closed
    return { reader: id, privateTo: id, community: name }
  }
  const [reader = null, ...others] = new Set(run.requesterIds)
  if (reader === null || others.length > 0) return noPrivacy
  return { reader, privateTo: run.task === 'dm' || run.task === 'manual' ? reader : null }
}
