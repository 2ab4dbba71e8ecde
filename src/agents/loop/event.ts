import type { ActivationId, CommentId, PostId } from '../../ids'
import type { Message, ModelAnswer, ModelFailure, ToolOutput } from './message'

/** Limits of one activation after profile, definition and ceilings (L8). */
export interface Limits {
  iterations: number
  tokens: number
  durationMs: number
}

/** What one model call cost, or may have cost (B1, L36). */
export interface Charge {
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  reasoningTokens: number
  microusd: number
  isPriced: boolean
  isEstimated: boolean
  durationMs: number
}

/** Everything later decisions and the commit need to know of LOAD. */
export interface LoadedFacts {
  admission: 'granted' | 'budget_exhausted'
  /** What LOAD reserved for the first model call. */
  reservation: { microusd: number; tokens: number }
  isPriced: boolean
  limits: Limits
  /** The prompt of the first call; later ones only append to it. */
  prompt: Message[]
  agentName: string
  model: { id: string; isOffline: boolean; substitutedFor: string | null }
  definition: { version: number; etag: string }
  /** Where the answer goes, and who asked. */
  answer: { postId: PostId; parentId: CommentId | null; askers: string[] } | null
  /** Why there can be no model call at all, e.g. a broken definition; null when there is none. */
  problem: { code: string; message: string } | null
}

/** One call of a model's answer with what the platform knows of its tool. */
export interface CallFacts {
  callId: string
  isSequential: boolean
}

/**
 * What happened, in the past tense. `at` is milliseconds since the epoch. An event with an
 * `effectId` is the outcome of that effect and is dropped when the effect is no longer pending:
 * late, doubled and reordered events are harmless.
 */
export type LoopEvent = { at: number } & (
  | { type: 'woken'; activationId: ActivationId; replyId: CommentId; reportId: PostId }
  | { type: 'loaded'; effectId: number; facts: LoadedFacts }
  | { type: 'load_waited'; effectId: number; retryAt: number; reason: string }
  | { type: 'load_found_nothing'; effectId: number }
  | { type: 'load_failed'; effectId: number; code: string; message: string; isHopeless: boolean }
  | {
      type: 'model_answered'
      effectId: number
      startedAt: number
      answer: ModelAnswer
      charge: Charge
      calls: CallFacts[]
    }
  | {
      type: 'model_failed'
      effectId: number
      startedAt: number
      failure: ModelFailure
      /** Null when nothing was processed. */
      charge: Charge | null
      /** 0 to 1, spreads the retries. */
      jitter: number
    }
  | { type: 'model_refused'; effectId: number; reason: 'lost' | 'paused' | 'budget_exhausted' }
  | { type: 'model_waited'; effectId: number; retryAt: number }
  | ({
      type: 'tool_returned'
      effectId: number
      startedAt: number
      durationMs: number
      resultBytes: number
      /** What the gateway noted, for the audit log; null when it was never asked. */
      audit: Record<string, unknown> | null
    } & ToolOutput)
  | { type: 'slept'; effectId: number }
  /** The wall clock limit passed; `charge` is for a model call that was cut off. */
  | { type: 'time_ran_out'; charge: Charge | null }
  | { type: 'cancel_requested'; charge: Charge | null }
  /**
   * The machine died. `charge` is for a model call that was sent and whose answer is lost;
   * `unknownCallIds` are tool calls that may have run and must not run twice.
   */
  | { type: 'interrupted'; unknownCallIds: string[]; charge: Charge | null }
  | { type: 'committed'; effectId: number; kind: 'done' | 'lost'; hasMore: boolean }
  | { type: 'commit_failed'; effectId: number; message: string; jitter: number }
)

export type LoopEventOf<Type extends LoopEvent['type']> = Extract<LoopEvent, { type: Type }>
