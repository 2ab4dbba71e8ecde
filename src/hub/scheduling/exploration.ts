import type { ExplorationOutcome } from '../../agents/contract/agents'
import { exploration } from '../../shared/config'
import { type Answers, batch } from '../../shared/db/batch'
import type {
  Candidate,
  CommitRequest,
  DueSchedule,
  Exploration,
  ExplorationReport,
  LoadRequest,
  LoadResult,
} from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import {
  assignScheduledStatements,
  type ExplorationOutcomeRow,
  type ExplorationRow,
  type explorationStatements,
  explorersPerPage,
  type HubStateRow,
} from './exploration-queries'

/** Converts the rows of `selectExploration` to the contract's type; undefined when there are none. */
export function readExploration(rows: ExplorationRow[]): Exploration | undefined {
  const [first] = rows
  if (!first) return undefined
  return {
    candidates: rows.map(toCandidate),
    interests: first.words,
    communities: first.communities,
    minConfidence: first.minConfidence,
    canPost: first.canPost,
    canComment: first.canComment,
  }
}

const toCandidate = (row: ExplorationRow): Candidate => ({
  postId: row.postId,
  community: row.community,
  author: { id: row.authorId, name: row.authorName, kind: row.authorKind },
  title: row.title,
  content: row.content,
  isQuestion: row.isQuestion,
  createdAt: row.createdAt,
  commentCount: row.commentCount,
  comments: row.comments.map(({ content, ...author }) => ({ author, content })),
})

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

/**
 * Returns the scheduler's event for a commit of an agent that explores, or that explored until its definition changed; null
 * for other agents.
 */
export function toCommitEvent(
  request: CommitRequest,
  row: ExplorationOutcomeRow | undefined,
): ExplorationOutcome | null {
  if (!row) return null
  const { agentId, now: at } = request
  if (!row.isExplorer) return row.isExploration ? { kind: 'found_nothing', agentId, at } : null
  return {
    kind: 'finished',
    agentId,
    at,
    isExploration: row.isExploration,
    hasFailed: request.outcome === 'failed',
    isSatisfied: row.hasPassed && request.outcome === 'completed',
  }
}

/** Converts the answers of `explorationStatements` to the contract's type. */
export function readExplorationReport({
  explorers,
  schedules,
  hubState,
}: Omit<Answers<ReturnType<typeof explorationStatements>>, 'reset'>): ExplorationReport {
  const last = explorers.length === explorersPerPage ? explorers.at(-1) : undefined
  return {
    explorers,
    next: last?.agentId ?? null,
    schedules,
    newContentAt: listNewsTimes(hubState),
    isThrottled: hubState?.isThrottled ?? false,
    runningExploration: hubState?.runningExploration ?? 0,
    isInboxWaiting: hubState?.isInboxWaiting ?? false,
  }
}

/** Returns the times at which posts become, or became, candidates; in milliseconds since the Unix epoch. */
function listNewsTimes(hub: HubStateRow | undefined): number[] {
  const after = (at: number | null | undefined, ms: number) =>
    at === null || at === undefined ? [] : [at + ms]
  return [
    ...after(hub?.lastPostAt, exploration.ageMsMin),
    ...after(hub?.seenPostAt, exploration.ageMsMin),
    ...after(hub?.lastPersonAt, exploration.humanQuietMs),
  ]
}

/** Assigns the tasks of due schedules in one batch. Idempotent. */
export async function assignScheduledTasks(
  { db, clock }: ActionContext,
  due: DueSchedule[],
  now: number,
): Promise<void> {
  if (due.length === 0) return
  const items = due.map((each) => ({ ...each, itemId: clock.newId() }))
  await batch(db, { tasks: assignScheduledStatements(items, now) })
}
