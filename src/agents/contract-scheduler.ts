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
  /** How a turn or another activation ended. A hint: what gets lost, the next sweep learns. */
  hear(news: TurnNews): Promise<void>
  /** Definitions or schedules changed: look at once, not at the next sweep. */
  lookSoon(): Promise<void>
}
