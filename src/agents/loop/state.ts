import type { Task } from '../../hub/contract/hub'
import type { ActivationId } from '../../shared/ids'
import type { Effect, NewEffect } from './effect'
import type { Ending } from './ending'
import type { Limits } from './event'
import type { Outage } from './message'
import type { ProgramState } from './program-state'

export type { Ending } from './ending'

/**
 * The phase of the loop. idle -> loading -> reasoning <-> acting -> committing -> idle; it sleeps
 * where it must wait. acting -> parking -> parked: the journal is set aside and the agent counts as
 * idle. A coding agent stays in reasoning while its program works: reasoning -> closing -> committing.
 */
export type Phase =
  | 'idle'
  | 'loading'
  | 'reasoning'
  | 'compacting'
  | 'acting'
  | 'parking'
  | 'parked'
  | 'closing'
  | 'committing'

/** An admitted call of the current step. */
export interface StepCall {
  callId: string
  status: 'todo' | 'running' | 'parked' | 'done'
  isSequential: boolean
}

/** A provider that an activation waits for, and how often the activation parked for it. */
export interface AwaitedOutage extends Outage {
  parks: number
}

/**
 * The state of the loop between two events. Kept small because it is written with every event;
 * texts are stored in the events of the journal.
 */
export interface LoopState {
  version: 1
  phase: Phase
  activationId: ActivationId | null
  task: Task | null
  nextEffectId: number
  pending: Effect[]
  startedAt: number
  /**
   * When the time limit is reached; 0 before LOAD; while parked, the milliseconds that are left.
   */
  endsAt: number
  limits: Limits
  iteration: number
  modelCalls: number
  toolCalls: number
  errors: number
  /** Retries of the current model call. */
  retries: number
  emptyAnswers: number
  tokens: number
  microusd: number
  /** Tokens and cost that were already settled when the activation parked. */
  settled: { tokens: number; microusd: number } | null
  /** Estimated size of the next prompt in tokens, and its number of history entries. */
  promptTokens: number
  entries: number
  compactions: number
  /** The context window truncated an answer: compact before the next call. */
  mustCompact: boolean
  /** The task is to compact the session; absent for any other one, and once more was asked. */
  isCompactOnly?: boolean
  /** Characters of a truncated answer that is being continued; 0 when there is none. */
  cutChars: number
  calls: StepCall[]
  /** Call ids seen in this activation. */
  callIds: string[]
  /** The provider that was down when it was last called; null once it has answered. */
  outage: AwaitedOutage | null
  /** The program of a coding agent; null for an agent that runs natively. */
  program: ProgramState | null
  /** Failed attempts of the current commit or park request. */
  commitFailures: number
  /** A stop was requested at a moment when the activation could not end yet. */
  isCancelled: boolean
  /** A comment may have arrived for the run: ask the hub before the answer is posted. */
  maySteer: boolean
  /** Woken while busy: check the inbox again after the commit. */
  isWokenAgain: boolean
  ending: Ending | null
}

export const initialState: LoopState = {
  version: 1,
  phase: 'idle',
  activationId: null,
  task: null,
  nextEffectId: 1,
  pending: [],
  startedAt: 0,
  endsAt: 0,
  limits: { iterations: 0, tokens: 0, durationMs: 0, contextTokens: 0 },
  iteration: 0,
  modelCalls: 0,
  toolCalls: 0,
  errors: 0,
  retries: 0,
  emptyAnswers: 0,
  tokens: 0,
  microusd: 0,
  settled: null,
  promptTokens: 0,
  entries: 0,
  compactions: 0,
  mustCompact: false,
  cutChars: 0,
  calls: [],
  callIds: [],
  outage: null,
  program: null,
  commitFailures: 0,
  isCancelled: false,
  maySteer: false,
  isWokenAgain: false,
  ending: null,
}

/** The result of a step: the next state, whose `pending` includes the new effects. */
export interface Step {
  state: LoopState
  effects: Effect[]
}

/** Adds effects to a state, each with the next id. */
export function withEffects(state: LoopState, ...wanted: NewEffect[]): Step {
  const effects = wanted.map(
    (effect, index) => ({ ...effect, id: state.nextEffectId + index }) as Effect,
  )
  return {
    state: {
      ...state,
      nextEffectId: state.nextEffectId + effects.length,
      pending: [...state.pending, ...effects],
    },
    effects,
  }
}

/** Returns a step without new effects. */
export const withoutEffects = (state: LoopState): Step => ({ state, effects: [] })

/** Returns whether the loop has something to do, now or after a sleep. */
export const isBusy = ({ phase }: LoopState): boolean => phase !== 'idle' && phase !== 'parked'

/**
 * Returns whether the activation runs its model or tools, so that a time limit or a person can end
 * it.
 */
export const isStoppable = ({ phase }: LoopState): boolean =>
  phase === 'reasoning' || phase === 'compacting' || phase === 'acting'

/**
 * Returns whether a stop takes effect later, because the activation cannot end before the hub has
 * answered.
 */
export const isStopDeferred = ({ phase }: LoopState): boolean =>
  phase === 'loading' || phase === 'parking' || phase === 'parked'

/** Returns whether an earlier stop request will end the activation. */
export const hasDeferredStop = (state: LoopState): boolean =>
  state.isCancelled && isStopDeferred(state)

/** Returns whether the loop only waits for a time. */
export const isSleeping = ({ pending }: LoopState): boolean =>
  pending.length > 0 && pending.every(({ type }) => type === 'sleep')

/** Returns whether a crash of the machine does not interrupt an effect: it waits, or its work is done elsewhere. */
export const isLasting = (type: Effect['type']): boolean =>
  type === 'sleep' || type === 'run_program' || type === 'close_program' || type === 'notify_nobody'
