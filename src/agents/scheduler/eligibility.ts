import { explorationScheduling } from '../../shared/config'

/** Inputs that decide when an agent can explore again. Times in milliseconds since the epoch. */
export interface EligibilityInput {
  agentId: string
  /** End of the last exploration; 0 when the agent never explored. */
  lastExploredAt: number
  /** End of the last activation of any kind; 0 when the agent never ran. */
  lastActivatedAt: number
  intervalMs: number
  /** Failed activations in a row. */
  failures: number
}

/** Returns whether an agent has failed so often in a row that it waits for the maximum backoff. */
export const isCircuitOpen = (failures: number): boolean =>
  failures >= explorationScheduling.failuresMax

/**
 * Returns when the agent is eligible next: an interval after its last exploration, whatever else it does
 * meanwhile. After a failure of any activation it waits for the backoff, too: the interval, doubled with
 * every failure in a row. An agent that failed is never eligible earlier than one that didn't, however
 * stale it is.
 */
export function computeEligibleAt(input: EligibilityInput): number {
  const { lastExploredAt, lastActivatedAt, intervalMs, failures } = input
  const next = lastExploredAt === 0 ? 0 : lastExploredAt + intervalMs
  if (failures === 0 || lastActivatedAt === 0) return next
  return Math.max(next, lastActivatedAt + computeWait(intervalMs, failures, jitterOf(input)))
}

/**
 * Returns the wait before the next exploration, in milliseconds.
 *
 * @param jitter 0 to 1; spreads agents that failed together
 */
export function computeWait(intervalMs: number, failures: number, jitter: number): number {
  if (failures === 0) return intervalMs
  const longest = Math.max(intervalMs, explorationScheduling.backOffMsMax)
  const doubled = isCircuitOpen(failures) ? longest : Math.min(longest, intervalMs * 2 ** failures)
  return Math.round(Math.min(longest, doubled * (1 + explorationScheduling.backOffJitter * jitter)))
}

/** Returns a jitter from 0 to 1, hashed from the input so that a rebuilt index gets the same time. */
function jitterOf({ agentId, lastActivatedAt }: EligibilityInput): number {
  let hash = 0x811c9dc5
  for (const char of `${agentId}:${lastActivatedAt}`) {
    hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  }
  return (hash >>> 0) / 2 ** 32
}
