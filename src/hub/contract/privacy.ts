/** Whose private data a run reads and writes. Part of the hub's contract. */
import type { AccountId } from '../../shared/ids'
import type { Task } from './activations'

export interface Privacy {
  /** The account whose private data the run can read: its only requester; null: it reads none. */
  reader: AccountId | null
  /** The account that alone can read what the run saves; null: runs for anybody can. */
  privateTo: AccountId | null
}

/** The privacy of calls outside of a run, and of runs for the hub itself or for several requesters. */
export const noPrivacy: Privacy = { reader: null, privateTo: null }

/**
 * Decides whose private data a run reads and writes. Private data is read only for a single requester,
 * because several would read each other's. What comes from a direct message or from a task that a person
 * gave by hand stays with its requester; what comes from a thread is for all.
 */
export function decidePrivacy(run: { task: Task; requesterIds: AccountId[] }): Privacy {
  const [reader = null, ...others] = new Set(run.requesterIds)
  if (reader === null || others.length > 0) return noPrivacy
  return { reader, privateTo: run.task === 'dm' || run.task === 'manual' ? reader : null }
}
