import type { ActivationErrorCode, Outcome } from '../../errors'
import type { ActivationId } from '../../ids'
import type { Effect, NewEffect } from './effect'
import type { Limits, Task } from './event'

/**
 * idle -> loading -> reasoning <-> acting -> committing -> idle; sleeping where it must wait.
 * acting -> parking -> parked: its journal is set aside and the agent is as good as idle.
 */
export type Phase =
  | 'idle'
  | 'loading'
  | 'reasoning'
  | 'compacting'
  | 'acting'
  | 'parking'
  | 'parked'
  | 'committing'

/** One admitted call of the step under way. */
export interface StepCall {
  callId: string
  status: 'todo' | 'running' | 'parked' | 'done'
  isSequential: boolean
}

/** How the activation ends, decided once. */
export interface Ending {
  outcome: Outcome
  error: { code: ActivationErrorCode; message: string } | null
  /**
   * `answer`: the text of the last answer; `partial`: the text so far, if any, then `text`;
   * `notice`: only `text`; `silent`: nothing is posted.
   */
  reply: 'answer' | 'partial' | 'notice' | 'silent'
  text: string
  /** For the log and the trace. */
  warning?: string
}

/**
 * Everything the loop remembers between two events. Small on purpose: it is written with every
 * event. Words live in the journal's events.
 */
export interface LoopState {
  version: 1
  phase: Phase
  activationId: ActivationId | null
  task: Task | null
  nextEffectId: number
  pending: Effect[]
  startedAt: number
  /** Wall clock limit; 0 before LOAD; while parked, the time that is left. */
  endsAt: number
  limits: Limits
  iteration: number
  modelCalls: number
  toolCalls: number
  errors: number
  /** Retries of the model call under way. */
  retries: number
  emptyAnswers: number
  tokens: number
  microusd: number
  /** Of both, what was settled when it was parked. */
  settled: { tokens: number; microusd: number } | null
  /** Estimated size of the next prompt, and its history entries (L18, L19). */
  promptTokens: number
  entries: number
  compactions: number
  /** The window was full when an answer was cut: compact before the next call (L21). */
  mustCompact: boolean
  /** Length of an answer that was cut and is being continued; 0 when there is none. */
  cutChars: number
  calls: StepCall[]
  /** Call ids seen in this activation. */
  callIds: string[]
  startsWithoutProgress: number
  /** Of the commit or the parking under way. */
  commitFailures: number
  /** Asked to stop before there was anything to stop (L34). */
  isCancelled: boolean
  /** Woken while at work: look again after the commit. */
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
  startsWithoutProgress: 0,
  commitFailures: 0,
  isCancelled: false,
  isWokenAgain: false,
  ending: null,
}

/** The result of a step: the next state, whose `pending` holds the new effects too. */
export interface Step {
  state: LoopState
  effects: Effect[]
}

/** Adds effects to a state, giving each the next id. */
export function issue(state: LoopState, ...wanted: NewEffect[]): Step {
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

export const rest = (state: LoopState): Step => ({ state, effects: [] })

/** Whether the loop has something to do once its sleep, if any, is over. */
export const isBusy = ({ phase }: LoopState): boolean => phase !== 'idle' && phase !== 'parked'

/** Whether model and tools are at work: it can be cut off, by the clock or by a person. */
export const isWorking = ({ phase }: LoopState): boolean =>
  phase === 'reasoning' || phase === 'compacting' || phase === 'acting'

/** Whether a stop is remembered, for nothing can be ended before the hub has answered (L34). */
export const remembersStop = ({ phase }: LoopState): boolean =>
  phase === 'loading' || phase === 'parking' || phase === 'parked'

/** Whether it will end because it was asked to, also when it was asked before. */
export const willStop = (state: LoopState): boolean => state.isCancelled && remembersStop(state)

/** Whether nothing is under way but waiting for a time. */
export const isAsleep = ({ pending }: LoopState): boolean =>
  pending.length > 0 && pending.every(({ type }) => type === 'sleep')
