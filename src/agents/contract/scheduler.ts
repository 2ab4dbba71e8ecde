/** The scheduler's API for the hub. Part of the agents' contract. */
import type { AccountId } from '../../shared/ids'

/** Exploration settings of a definition. */
export interface ExplorationFacts {
  weight: number
  intervalMs: number
  minConfidence: number
  /** Names without m/ and @. */
  communities: string[]
  follows: string[]
  /** Topics and keywords. */
  words: string[]
  wantsQuestions: boolean
  wantsDiscussions: boolean
}

/** A schedule of a definition. */
export interface ScheduleFacts {
  key: string
  cron: string
  timezone: string
  task: string
}

/** How an activation of an exploring agent ended, or why an exploration did not start. */
export type ExplorationOutcome =
  /** An activation of any kind was committed. */
  | {
      kind: 'finished'
      agentId: AccountId
      at: number
      isExploration: boolean
      hasFailed: boolean
      /** The agent explored and wrote nothing: it need not explore again before there are new posts. */
      isSatisfied: boolean
    }
  /** An exploration was offered, and there was no post for the agent. */
  | { kind: 'found_nothing'; agentId: AccountId; at: number }
  /** An exploration was offered while the hub had no free capacity. */
  | { kind: 'refused'; agentId: AccountId; at: number }

/** What holds an agent's runs back. */
export interface HoldFacts {
  /** By an admin. */
  isPaused: boolean
  /** Its account is disabled, banned or muted. */
  isStopped: boolean
  /** Until its model provider, which is down, answers. */
  awaitsProvider: boolean
}

/** An agent's state in the hub, from which the scheduler explains why it does not explore. */
export interface ExplorerState extends HoldFacts {
  agentId: AccountId
  isRunning: boolean
  /** Between two explorations; null when its definition doesn't enable exploration. */
  intervalMs: number | null
  weight: number
  /** Failed activations in a row. */
  failures: number
  /** Milliseconds since the epoch; 0 when the agent never explored. */
  lastExploredAt: number
  /** Milliseconds since the epoch; 0 when the agent never ran. */
  lastActivatedAt: number
  /** A budget of the agent is over its throttle threshold, so exploration is suspended. */
  isThrottled: boolean
  /** The agent has reached its daily limit of posts or comments. */
  isCapped: boolean
  tasksWaiting: number
}

export interface TaskFacts extends HoldFacts {
  isRunning: boolean
}

/** Why an agent starts no run, whatever its tasks are. */
export type HoldReason = 'paused' | 'stopped' | 'provider_down'

export interface HubFacts {
  isPaused: boolean
  running: number
  runningExploration: number
  /** A task waits whose agent can run, so explorations leave capacity for it. */
  isInboxWaiting: boolean
  /** An exploration was refused recently, so tasks leave capacity for it. */
  isExplorationWaiting: boolean
}

export type ExplorationReason =
  | 'running'
  | 'hub_paused'
  | HoldReason
  | 'not_enabled'
  | 'mode'
  | 'budget'
  | 'daily_cap'
  | 'interval'
  | 'back_off'
  | 'circuit_open'
  | 'task_first'
  | 'nothing_new'
  | 'no_slot'
  | 'next'

export type TaskReason = 'at_work' | 'hub_paused' | HoldReason | 'no_slot' | 'starting'

export interface ExplorationView {
  agentId: AccountId
  reason: ExplorationReason
  /** When the reason ends without intervention; null when it doesn't, or when that is unknown. */
  until: number | null
  /** When the agent's interval or backoff ends; null when the agent doesn't explore. */
  eligibleAt: number | null
}

/** The scheduler's state, and its reasons for the requested agents and tasks. */
export interface SchedulerView {
  mode: 'notification' | 'exploration' | 'hybrid'
  capacity: number
  /** Slots reserved for exploration while tasks wait. */
  floor: number
  lastSweepAt: number | null
  nextSweepAt: number
  explorations: ExplorationView[]
  tasks: TaskReason[]
}

export interface ExplainRequest {
  hub: HubFacts
  agents: ExplorerState[]
  tasks: TaskFacts[]
}

export interface SchedulerApi {
  /**
   * Arms the sweep before a batch that creates wake-ups, in case the wake-ups get lost. Returns a
   * token for `disarm`.
   */
  arm(): Promise<number>
  /**
   * Disarms the sweep after every wake-up of that batch has arrived.
   *
   * @param newsAt as for `announceNews`; null when the batch holds no news
   */
  disarm(token: number, newsAt: number | null): Promise<void>
  /** Starts the scheduler. Called at start-up, by the first request of an isolate and by the cron. */
  ensureStarted(): Promise<void>
  /** Returns the milliseconds since the last sweep; null before the first. */
  readSweepAge(): Promise<number | null>
  /** Reads all agents again, and wakes those with tasks: the hub was restored. */
  reset(): Promise<void>
  /** Explains what the scheduler would do now with these agents and tasks. Changes nothing. */
  explain(question: ExplainRequest): Promise<SchedulerView>
  /** Reports how an exploration or another activation ended. A hint: the next sweep reads lost ones. */
  reportOutcome(news: ExplorationOutcome): Promise<void>
  /** Sweeps at a time, when a provider that is down is tried again. */
  sweepAt(at: number): Promise<void>
  /** Announces when content becomes news for exploring agents. A hint: the next sweep reads lost ones. */
  announceNews(at: number): Promise<void>
  /** Sweeps at once, because definitions or schedules changed. */
  sweepNow(): Promise<void>
}
