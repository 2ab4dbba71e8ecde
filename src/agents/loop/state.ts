import type { Outcome } from '../../errors'
import type { ActivationId } from '../../ids'
import type { Effect, NewEffect } from './effect'
import type { Limits } from './event'

/** idle -> loading -> reasoning <-> acting -> committing -> idle; sleeping where it must wait. */
export type Phase = 'idle' | 'loading' | 'reasoning' | 'acting' | 'committing'

/** One admitted call of the step under way. */
export interface StepCall {
  callId: string
  status: 'todo' | 'running' | 'done'
  isSequential: boolean
}

/** How the activation ends, decided once. */
export interface Ending {
  outcome: Outcome
  error: { code: string; message: string } | null
  /**
   * `answer`: the text of the last answer; `partial`: the text so far, if any, then `text`;
   * `notice`: only `text`; `silent`: nothing is posted.
   */
  reply: 'answer' | 'partial' | 'notice' | 'silent'
  text: string
}

/**
 * Everything the loop remembers between two events. Small on purpose: it is written with every
 * event. Words live in the journal's events.
 */
export interface LoopState {
  version: 1
  phase: Phase
  activationId: ActivationId | null
  nextEffectId: number
  pending: Effect[]
  startedAt: number
  /** Wall clock limit; 0 before LOAD. */
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
  calls: StepCall[]
  /** Call ids seen in this activation. */
  callIds: string[]
  startsWithoutProgress: number
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
  nextEffectId: 1,
  pending: [],
  startedAt: 0,
  endsAt: 0,
  limits: { iterations: 0, tokens: 0, durationMs: 0 },
  iteration: 0,
  modelCalls: 0,
  toolCalls: 0,
  errors: 0,
  retries: 0,
  emptyAnswers: 0,
  tokens: 0,
  microusd: 0,
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
export const isBusy = (state: LoopState): boolean => state.phase !== 'idle'
