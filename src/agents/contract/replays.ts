import type { ModelConnection } from '../../hub/contract/models'
import type { Judge } from '../../hub/contract/trials'
import type { ActivationId } from '../../shared/ids'

/** Why two lanes part at a step. */
export type PartingReason =
  /** The prompts differ: the definition, skills or instructions. */
  | 'prompt'
  /** Other tools were offered. */
  | 'tools'
  /** Another model, or other settings of it. */
  | 'model'
  /** The model chose otherwise, after the same prompt. */
  | 'choice'
  /** A tool answered otherwise. */
  | 'tool_answer'
  /** One lane went on, the other had ended. */
  | 'end'

/** The first step at which two lanes differ. */
export interface Parting {
  /** The number of the model call, from 1. */
  step: number
  reason: PartingReason
  /** What differs, as a sentence for people. */
  detail: string
}

/** Ids of what tools answered with. */
export interface RunReads {
  posts: string[]
  comments: string[]
}

/** The agents' part of replays. */
export interface ReplayRunner {
  /** Starts a lane, or lets it go on. Resolves when it runs, or when an alarm guarantees that it will. */
  wakeLane(laneId: ActivationId): Promise<void>
  /** Stops a lane within its current model call. Idempotent. */
  cancelLane(laneId: ActivationId): Promise<void>
  /** Deletes what the lane's object stores. Idempotent. */
  deleteLane(laneId: ActivationId): Promise<void>
  /** Returns where the records of two lanes part; null when they do the same. */
  findParting(one: string, other: string): Parting | null
  /** Why a run cannot be replayed, as a sentence; null when it can: of a coding agent, cut, of another version. */
  findReplayProblem(record: string): string | null
  /** Returns the text that a run would post, without mentions; empty when it would post none, or cannot be read. */
  readAnswer(record: string): string
  /** Returns what a run was asked, bounded; of a run that nobody asked for, its occasion. Empty when it cannot be read. */
  readQuestion(record: string): string
  /** Returns the model that compares answers; null when none is set, or the hub cannot call it. */
  readJudge(connections: readonly ModelConnection[]): Judge | null
  /** Returns which texts of the hub the answers of a run's tools were made of. */
  listReads(record: string): RunReads
}
