/** What the scheduler offers the hub. Part of the contract of the agents' room. */
import type { AccountId } from '../ids'

/** How a definition wants its agent to look around. */
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

/** Work by the clock, as a definition has it. */
export interface ScheduleFacts {
  key: string
  cron: string
  timezone: string
  task: string
}

/** What the scheduler hears of an agent that looks around now and then (S2). */
export type TurnNews =
  /** An activation of any kind was committed. */
  | {
      kind: 'finished'
      agentId: AccountId
      at: number
      hasFailed: boolean
      /** It looked around and had nothing to say: it need not look again before there is news. */
      isSatisfied: boolean
    }
  /** Its turn came, and there was nothing for it to look at. */
  | { kind: 'found_nothing'; agentId: AccountId; at: number }
  /** Its turn came while the hub had no room. */
  | { kind: 'refused'; agentId: AccountId; at: number }

/** What the hub knows of an agent when it asks why it has no turn (S11). */
export interface TurnFacts {
  agentId: AccountId
  isRunning: boolean
  isPaused: boolean
  /** Between two turns; null: its definition gives it none. */
  intervalMs: number | null
  weight: number
  /** Failed activations in a row. */
  failures: number
  /** 0 when it never ran. */
  lastActivatedAt: number
  /** A budget that it spends from is so far used that nobody looks around at its expense. */
  isThrottled: boolean
  /** It has written what it may today. */
  isCapped: boolean
  tasksWaiting: number
}

export interface TaskFacts {
  isRunning: boolean
  isPaused: boolean
}

export interface HubFacts {
  isPaused: boolean
  running: number
  runningExploration: number
  tasksWaiting: number
  /** An agent could not have its turn lately, so tasks leave it room. */
  doesExplorationWait: boolean
}

export type TurnReason =
  | 'running'
  | 'hub_paused'
  | 'paused'
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

export type TaskReason = 'at_work' | 'hub_paused' | 'paused' | 'no_slot' | 'starting'

export interface TurnView {
  agentId: AccountId
  reason: TurnReason
  /** When that passes by itself; null when it does not, or nobody knows. */
  until: number | null
  /** When its interval or back-off has passed; null when it has no turns. */
  eligibleAt: number | null
}

/** The scheduler's state, and its reasons for the agents and tasks that it was asked about. */
export interface SchedulerView {
  mode: 'notification' | 'exploration' | 'hybrid'
  capacity: number
  /** Slots that looking around keeps while tasks wait. */
  floor: number
  lastSweepAt: number | null
  nextSweepAt: number
  turns: TurnView[]
  tasks: TaskReason[]
}

export interface SchedulerQuestion {
  hub: HubFacts
  agents: TurnFacts[]
  tasks: TaskFacts[]
}

export interface SchedulerApi {
  /**
   * Called before a batch that creates wake-ups: sweep soon in case the wake-ups get lost (S6).
   * Returns a token for `disarm`.
   */
  arm(): Promise<number>
  /** Every wake-up of that batch arrived: no sweep is needed on its account. */
  disarm(token: number): Promise<void>
  /** Called by start-up, by the first request of an isolate, by the cron. */
  ensureStarted(): Promise<void>
  /** Milliseconds since the last sweep; null before the first. */
  readSweepAge(): Promise<number | null>
  /** What it would do now with these agents and tasks, and why not more. Changes nothing. */
  explain(question: SchedulerQuestion): Promise<SchedulerView>
  /** How a turn or another activation ended. A hint: what gets lost, the next sweep learns. */
  hear(news: TurnNews): Promise<void>
  /** Definitions or schedules changed: look at once, not at the next sweep. */
  lookSoon(): Promise<void>
}
