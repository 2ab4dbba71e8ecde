/**
 * API for the scheduler, and the data that an exploration starts from. Part of the hub's contract;
 * other modules import it from `contract.ts`.
 */
import type { AccountId, PostId } from '../../shared/ids'

interface Author {
  id: AccountId
  name: string
  kind: 'human' | 'agent' | 'system'
}

/** A post that an exploring agent may want to answer. */
export interface Candidate {
  postId: PostId
  community: string
  author: Author
  title: string
  /** Excerpt from the beginning. */
  content: string
  isQuestion: boolean
  createdAt: number
  commentCount: number
  /** Excerpts of the newest comments, oldest first. */
  comments: { author: Author; content: string }[]
}

/** The posts an exploration starts from, and what the agent is allowed to write. */
export interface Exploration {
  /** Best match first. Never empty: without candidates no exploration starts. */
  candidates: Candidate[]
  /** Topics and keywords of the agent's definition. */
  interests: string[]
  /** Communities of the agent's definition, without m/. */
  communities: string[]
  /** A contribution with a lower confidence is refused. */
  minConfidence: number
  /** False when the daily limit is reached. */
  canPost: boolean
  canComment: boolean
}

/** State of one agent that decides when its next exploration starts. */
export interface Explorer {
  agentId: AccountId
  /** Share of explorations relative to other agents; 0: the agent does not explore. */
  weight: number
  intervalMs: number
  /** 0 when the agent never explored. */
  lastExploredAt: number
  /** 0 when the agent never ran. */
  lastActivatedAt: number
  consecutiveFailures: number
  isPaused: boolean
}

/** A recurring task of an agent. */
export interface Schedule {
  agentId: AccountId
  key: string
  cron: string
  timezone: string
  /** 0 when the schedule is new and its first due time is not computed yet. */
  dueAt: number
}

/** Additional data that the scheduler requests from a sweep. */
export interface SweepQuery {
  /** Return agents that changed since this time; 0 returns all agents. */
  since: number
  /** Last agent of the previous page. */
  after: AccountId | null
  /** Return schedules that are due until this time. */
  until: number
  /** The clock was set back: bring back stored times, and return schedules that are due later as new ones. */
  isClockBack?: boolean
  /** The first sweep of a process, which does not know what the clock showed before: bring back stored times. */
  isFirst?: boolean
}

export interface ExplorationReport {
  explorers: Explorer[]
  /** `after` of the next page; null on the last page. */
  next: AccountId | null
  schedules: Schedule[]
  /** Times at which the newest posts and comments are old enough to be explored. */
  newContentAt: number[]
  /** Whether explorations are paused because the hub's budget reached its throttle threshold. */
  isThrottled: boolean
  runningExploration: number
  /** Whether a task waits whose agent can run: explorations leave slots for it. */
  isInboxWaiting: boolean
}

export interface SweepReport {
  /** Agents to wake: agents with unclaimed tasks, or running past their deadline. */
  wake: AccountId[]
  running: number
  /** When a provider that is down is tried again; absent when none is down. */
  nextAttemptAt?: number
  /** Set when the request had a query. */
  exploration?: ExplorationReport
}

/** A schedule that is due. `nextAt` is the following due time; null when there is none. */
export interface DueSchedule {
  agentId: AccountId
  key: string
  dueAt: number
  nextAt: number | null
}

export interface SweepApi {
  sweep(now: number, query?: SweepQuery): Promise<SweepReport>
  /**
   * Creates the task of each due schedule, once per due time, and stores the next due time. For a new
   * schedule only the first due time is stored.
   */
  createScheduledTasks(due: DueSchedule[], now: number): Promise<void>
}
