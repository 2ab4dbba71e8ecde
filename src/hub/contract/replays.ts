import type { ActivationError, Outcome } from '../../shared/errors'
import type { ActivationId, ReplayId } from '../../shared/ids'
import type { RenewResult } from './activations'
import type { Reservation, Usage } from './budgets'
import type { GrantPolicy } from './calls'
import type { Person } from './threads'
import type { JudgeOrder } from './trials'

/**
 * Replays: a recorded run that runs again, with its definition and with a draft of another, without anybody else seeing
 * anything of it. Part of the hub's contract; other modules import it from `hub.ts`.
 */

/** `baseline`: the definition of the run. `candidate`: the draft. What happened is the lane `observed`, which does not run. */
export type ReplayLane = 'baseline' | 'candidate'

/** What a lane runs from. */
export interface LaneOrder {
  replayId: ReplayId
  lane: ReplayLane
  /** From 1, of the repeats. */
  sample: number
  observed: {
    activationId: ActivationId
    startedAt: number
    /** The stored record of the run. */
    record: string
    /** What the baseline runs. */
    definition: { version: number; etag: string }
  }
  /** Whether the baseline runs the definition of the run with the tools and model of then. In a trial it runs as the draft does. */
  isAsThen: boolean
  agent: Person & { description: string }
  /** Files of the draft by path; null for the baseline. */
  draft: Record<string, string> | null
  /** For whom the lane runs, and whose rights bound what it reads. */
  by: Person
  /** Today's policy for the agent when it acts for `by`; the lane's definition says what of it is requested. */
  policy: GrantPolicy
  /** Ids of the communities that they cannot all read, as JSON. */
  unreadable: string
  /** Why it cannot run any more, as a sentence; null when it can. */
  problem: string | null
  /** The most that the lane may cost. */
  costMaxMicrousd: number
}

/** Charges the calls that a lane has made and reserves the worst case of its next one. */
export interface LaneRenewal {
  laneId: ActivationId
  now: number
  /** `provider/model` of the next call. */
  model: string
  /** Worst case of the next call; the reservation covers it, or less when the budget is short. */
  want: Reservation
  /** Smallest useful reservation. */
  floor: Reservation
  /** All calls of the lane so far; those that are charged already are ignored. */
  usage: Usage[]
  /** A hash of all that decides what a baseline does, apart from chance; null for any other lane. */
  inputs: string | null
}

/** Where the answer of a tool call of a lane came from; `lane`: it would have written, and was answered as if it had. */
export type CallSource = 'record' | 'hub' | 'lane' | 'none'

/** A tool call of a lane. */
export interface LaneCall {
  /** Of the model call that asked for it, from 1. */
  step: number
  tool: string
  /** Raw JSON. */
  arguments: string
  /** Whether it was answered with an error. */
  isError: boolean
  source: CallSource
  /** The record had no more answers for these arguments, so its last one was given again. */
  isRepeated: boolean
  /** Parts of the hub's answer that are those of today and not of then, such as `score`; mostly none. */
  current: readonly string[]
  /** What the call would have done, as a sentence; null when it reads or was recorded. */
  wouldHave: string | null
}

/** How a lane ended. */
export interface LaneResult {
  outcome: Outcome
  error: ActivationError | null
  /** The final text; empty when there is none. Of a comparison: JSON with `says` and `reason`. */
  answer: string
  steps: number
  tokens: number
  costMicrousd: number
  durationMs: number
  /** Why the lane does not show what would have happened, as a sentence; null when it does. */
  incomplete: string | null
  /** What else a reader should know of the lane, as sentences: hooks that did not run, tools that changed. */
  notes: string[]
  calls: LaneCall[]
  /** The record of the lane, as of a run; empty for a comparison. */
  record: string
  /** All model calls. */
  usage: Usage[]
}

/**
 * API for the objects that run the lanes of replays. The id of a lane stands for that of a run where rights are asked for,
 * as in `ToolCaller.activationId`: it reads what the requesters of the run and whoever asked for the replay may read today.
 */
export interface ReplayApi {
  /** Claims a queued lane, or returns again one that runs; null when it is cancelled, has ended or does not exist. */
  openLane(laneId: ActivationId, now: number): Promise<LaneOrder | JudgeOrder | null>
  /**
   * Refused as `lost` when the lane was cancelled or has ended: its calls are charged, nothing is held, and there is nothing
   * to finish. A late repeat, with fewer calls than an earlier renewal, is refused so too.
   */
  renewLane(request: LaneRenewal): Promise<RenewResult>
  /**
   * Ends a lane: charges its calls, releases what it holds and stores its result, in one batch. Idempotent. Returns the
   * lanes to start next; the caller has to wake them.
   */
  finishLane(
    laneId: ActivationId,
    now: number,
    result: LaneResult,
  ): Promise<{ next: ActivationId[] }>
}
