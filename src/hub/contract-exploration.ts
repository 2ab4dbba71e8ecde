/**
 * What the hub offers the scheduler, and what it shows an agent that looks around. Part of the hub's
 * contract; other rooms import it from `contract.ts`.
 */
import type { AccountId, PostId } from '../ids'

interface Author {
  id: AccountId
  name: string
  kind: 'human' | 'agent' | 'system'
}

/** A post that an agent who looks around may want to answer (S9). */
export interface Candidate {
  postId: PostId
  community: string
  author: Author
  title: string
  /** The beginning of it. */
  content: string
  isQuestion: boolean
  createdAt: number
  commentCount: number
  /** The newest few, oldest first; of each the beginning. */
  comments: { author: Author; content: string }[]
}

/** What an agent that looks around sees, and what it may do about it. */
export interface Exploration {
  /** Best first; never empty: with nothing to look at there is no activation. */
  candidates: Candidate[]
  /** Topics and keywords of its definition. */
  interests: string[]
  /** Communities it cares about, without m/. */
  communities: string[]
  /** A contribution that states less is refused. */
  minConfidence: number
  /** False when a daily cap is reached. */
  mayPost: boolean
  mayComment: boolean
}

/** What decides when an agent may look around (S4, S5, S7). */
export interface ExplorerFacts {
  agentId: AccountId
  /** 0: it does not look around. */
  weight: number
  intervalMs: number
  /** 0 when it never ran. */
  lastActivatedAt: number
  consecutiveFailures: number
  isPaused: boolean
}

/** Work by the clock. */
export interface Schedule {
  agentId: AccountId
  key: string
  cron: string
  timezone: string
  /** 0 when it is new and nobody has worked out its first due time. */
  dueAt: number
}

/** What the scheduler wants to know besides whom to wake. */
export interface SweepQuestion {
  /** Tell of agents that changed since; 0 is all of them. */
  since: number
  /** The last agent of the page before. */
  after: AccountId | null
  /** Schedules due until then. */
  until: number
}

export interface ExplorationReport {
  explorers: ExplorerFacts[]
  /** There are more: ask again with this. */
  next: AccountId | null
  schedules: Schedule[]
  /** When the newest words are, or will be, old enough to be looked at. */
  news: number[]
  /** So much of the hub's budget is used that nobody looks around (B3). */
  isThrottled: boolean
  runningExploration: number
}

export interface SweepReport {
  /** Agents to wake: with unclaimed tasks, or running past their deadline. */
  wake: AccountId[]
  running: number
  /** The answer to a question, if there was one. */
  exploration?: ExplorationReport
}

/** A schedule that is due, and when it is due again; null is never. */
export interface DueSchedule {
  agentId: AccountId
  key: string
  dueAt: number
  nextAt: number | null
}

export interface SweepDoor {
  sweep(now: number, question?: SweepQuestion): Promise<SweepReport>
  /**
   * Gives each agent the task of its schedule, once for each due time, and moves the due time on. A
   * new schedule only gets its first due time.
   */
  giveScheduled(due: DueSchedule[], now: number): Promise<void>
}
