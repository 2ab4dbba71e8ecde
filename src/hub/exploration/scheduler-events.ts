import type { ExplorationOutcome } from '../../agents/contract/agents'
import type { CommitRequest, LoadRequest, LoadResult } from '../contract/hub'
import type { ExplorationOutcomeRow } from './outcome-queries'

/**
 * Returns the scheduler's event for a LOAD that could explore and started nothing; null for any other
 * LOAD.
 */
export function toLoadEvent(request: LoadRequest, answer: LoadResult): ExplorationOutcome | null {
  if (!request.canExplore || answer.kind === 'loaded' || answer.kind === 'resumed') return null
  const { agentId, now: at } = request
  const isHeld = answer.kind === 'paused'
  const foundNothing = isHeld || (answer.kind === 'nothing' && answer.isRefused !== true)
  return { kind: foundNothing ? 'found_nothing' : 'refused', agentId, at }
}

/** Returns the scheduler's event for a commit of an agent that explores; null for other agents. */
export function toCommitEvent(
  request: CommitRequest,
  row: ExplorationOutcomeRow | undefined,
): ExplorationOutcome | null {
  if (!row?.isExplorer) return null
  return {
    kind: 'finished',
    agentId: request.agentId,
    at: request.now,
    isExploration: row.isExploration,
    hasFailed: request.outcome === 'failed',
    isSatisfied: row.hasPassed && request.outcome === 'completed',
  }
}
