import type { TurnNews } from '../../agents/contract'
import type { CommitRequest, LoadAnswer, LoadRequest } from '../contract'
import type { TurnRow } from './turn-queries'

/**
 * Returns the scheduler's event for a LOAD that could explore and started nothing; null for any other
 * LOAD.
 */
export function describeLoad(request: LoadRequest, answer: LoadAnswer): TurnNews | null {
  if (!request.mayExplore || answer.kind === 'loaded' || answer.kind === 'resumed') return null
  const { agentId, now: at } = request
  const foundNothing = answer.kind === 'nothing' && answer.isRefused !== true
  return { kind: foundNothing ? 'found_nothing' : 'refused', agentId, at }
}

/**
 * Returns the scheduler's event for a commit of an agent that explores; null for other agents. Every
 * activation restarts its interval, not only explorations.
 */
export function describeCommit(request: CommitRequest, row: TurnRow | undefined): TurnNews | null {
  if (row?.isExplorer !== 1) return null
  return {
    kind: 'finished',
    agentId: request.agentId,
    at: request.now,
    hasFailed: request.outcome === 'failed',
    isSatisfied: row.hasPassed === 1 && request.outcome === 'completed',
  }
}
