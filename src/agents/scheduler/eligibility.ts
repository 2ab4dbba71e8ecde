import { turns } from '../../config'

/** What decides when an agent may look around again. Times in milliseconds since the epoch. */
export interface Turn {
  agentId: string
  /** Of its last activation of any kind; 0 when it never ran. */
  lastActivatedAt: number
  intervalMs: number
  /** Failed activations in a row. */
  failures: number
}

/** After so many failures in a row only the longest wait is left (S5). */
export const isCircuitOpen = (failures: number): boolean => failures >= turns.failuresMax

/**
 * When the agent is eligible next (S4, S5): after its interval, which doubles with every failure in a
 * row. Never sooner than an agent that did not fail, however stale it is.
 */
export function computeEligibleAt(turn: Turn): number {
  const { lastActivatedAt, intervalMs, failures } = turn
  if (lastActivatedAt === 0) return 0
  return lastActivatedAt + computeWait(intervalMs, failures, jitterOf(turn))
}

/**
 * @param jitter 0 to 1; spreads agents that failed together
 */
export function computeWait(intervalMs: number, failures: number, jitter: number): number {
  if (failures === 0) return intervalMs
  const longest = Math.max(intervalMs, turns.backOffMsMax)
  const doubled = isCircuitOpen(failures) ? longest : Math.min(longest, intervalMs * 2 ** failures)
  return Math.round(Math.min(longest, doubled * (1 + turns.backOffJitter * jitter)))
}

/** Made from the turn itself, so that a rebuilt index finds the same time again. */
function jitterOf({ agentId, lastActivatedAt }: Turn): number {
  let hash = 0x811c9dc5
  for (const char of `${agentId}:${lastActivatedAt}`) {
    hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  }
  return (hash >>> 0) / 2 ** 32
}
