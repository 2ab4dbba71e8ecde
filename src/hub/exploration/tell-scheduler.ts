import type { TurnNews } from '../../agents/contract'
import type { CommitRequest, LoadAnswer, LoadRequest } from '../contract'
import type { TurnRow } from './turn-queries'

/** What became of a turn that LOAD was asked for; null when it began. */
export function describeLoad(request: LoadRequest, answer: LoadAnswer): TurnNews | null {
  if (!request.mayExplore || answer.kind === 'loaded' || answer.kind === 'resumed') return null
  const { agentId, now: at } = request
  const hasLooked = answer.kind === 'nothing' && answer.isRefused !== true
  return { kind: hasLooked ? 'found_nothing' : 'refused', agentId, at }
}

/** Of an agent that looks around, every activation counts: it is fresh again (S1). */
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
