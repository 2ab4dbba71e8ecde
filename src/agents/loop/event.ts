import type { ActivationErrorCode } from '../../errors'
import type { ActivationId, CommentId, PostId } from '../../ids'
import type { Message, ModelAnswer, ModelFailure, ToolOutput } from './message'

/** What set an activation off (L2). */
export type Task = 'mention' | 'reply' | 'dm' | 'exploration' | 'scheduled' | 'manual'

/** Limits of one activation after profile, definition and ceilings (L8). */
export interface Limits {
  iterations: number
  tokens: number
  durationMs: number
  /** The model's window: prompt and answer together (L18). */
  contextTokens: number
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
  /** The model that was called; absent in records of old. */
  model?: string
  /** Why it is not what the provider told, in a sentence. */
  doubt?: string
}

/** Everything later decisions and the commit need to know of LOAD. */
export interface LoadedFacts {
  task: Task
  admission: 'granted' | 'budget_exhausted'
  /** What LOAD reserved for the first model call. */
  reservation: { microusd: number; tokens: number }
  isPriced: boolean
  limits: Limits
  /**
   * The prompt of the first call; later ones only append to it. Last comes the task; before it, from
   * `historyFrom` on, the session's history, which a compaction may replace.
   */
  prompt: Message[]
  historyFrom: number
  /** Estimated size of the first prompt, tools included. */
  promptTokens: number
  /** The most that the first model call takes, with what is added to its prompt right before it. */
  firstCall?: { tokens: number; microusd: number }
  agentName: string
  model: { id: string; isOffline: boolean; substitutedFor: string | null }
  /** Of a run by hand: the model to call in place of the definition's. */
  modelOverride?: string
  /** The model that LOAD has reserved money for (B6). */
  reservedModel?: string
  definition: { version: number; etag: string }
  /**
   * Where the answer goes, and who asked; without a post into the inbox of who asked. Null: nobody
   * waits for an answer, or the thread is gone.
   */
  answer: { postId: PostId | null; parentId: CommentId | null; askers: string[] } | null
  /** Why there can be no model call at all, e.g. a broken definition; null when there is none. */
  problem: { code: ActivationErrorCode; message: string } | null
  /** What is said in place of work that this hub cannot do, e.g. another executor's (L46). */
  note?: string
  /** Where this activation is remembered (L39); absent when the agent has no memory. */
  session?: {
    id: string
    /** The task's words as its session keeps them, fenced. */
    task: string
    /** In one line, for other sessions; empty when it is nobody else's business. */
    gist: string
  }
  /** What a person who looks at the trace should know of the prompt. */
  notes?: string[]
}

/** One call of a model's answer with what the platform knows of its tool. */
export interface CallFacts {
  callId: string
  isSequential: boolean
}

/** A call that waits for a person, exactly as it would run (M7). */
export interface Approval {
  callId: string
  tool: string
  grant: string
  tier: 'read' | 'write' | 'destructive'
  /** Raw JSON, final. */
  arguments: string
  argumentsHash: string
}

export interface Decision {
  callId: string
  decision: 'approved' | 'denied' | 'expired'
  /** Who decided; null when time did. */
  by: string | null
  note: string
}

/** How long one hook took, for the trace (L33). */
export interface HookTime {
  hook: string
  point: string
  ms: number
  outcome: 'ok' | 'denied' | 'failed' | 'timed_out'
}

/** A prompt in numbers. */
export interface PromptSize {
  messages: number
  chars: number
  tokens: number
  /** Share of the step before's prompt that this one begins with; null when that is not known. */
  prefixShare: number | null
}

/**
 * What happened, in the past tense. `at` is milliseconds since the epoch. An event with an
 * `effectId` is the outcome of that effect and is dropped when the effect is no longer pending:
 * late, doubled and reordered events are harmless.
 */
export type LoopEvent = { at: number } & (
  | {
      type: 'woken'
      activationId: ActivationId
      replyId: CommentId
      reportId: PostId
      /** The scheduler offers a turn to look around (S1). */
      mayExplore?: true
    }
  | { type: 'loaded'; effectId: number; facts: LoadedFacts }
  | { type: 'load_waited'; effectId: number; retryAt: number; reason: string }
  | { type: 'load_found_nothing'; effectId: number }
  | {
      type: 'load_failed'
      effectId: number
      code: ActivationErrorCode
      message: string
      isHopeless: boolean
    }
  | {
      type: 'model_answered'
      effectId: number
      startedAt: number
      answer: ModelAnswer
      charge: Charge
      calls: CallFacts[]
      /** What the model was shown, for the trace (L43). */
      input?: PromptSize
      /** The prompt came near the window (L19). */
      warning?: string
      hooks?: HookTime[]
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
  | {
      type: 'model_refused'
      effectId: number
      reason: 'lost' | 'paused' | 'budget_exhausted' | 'max_tokens'
    }
  | { type: 'model_waited'; effectId: number; retryAt: number }
  | ({
      type: 'tool_returned'
      effectId: number
      startedAt: number
      durationMs: number
      resultBytes: number
      /** What the gateway noted, for the audit log; null when it was never asked. */
      audit: Record<string, unknown> | null
      hooks?: HookTime[]
      /** What it ran with, when that is not what the model wrote (L32). */
      arguments?: string
    } & ToolOutput)
  /** The gateway ran nothing: a person must approve the call first (L30). */
  | {
      type: 'tool_parked'
      effectId: number
      callId: string
      name: string
      startedAt: number
      approval: Approval
      audit: Record<string, unknown> | null
      hooks?: HookTime[]
    }
  /** The hub has the approvals, and the activation holds nothing any more; or it is not ours now. */
  | { type: 'parked'; effectId: number; kind: 'parked' | 'lost'; hasMore: boolean }
  | { type: 'park_failed'; effectId: number; message: string; jitter: number }
  /**
   * All approvals are decided and the hub runs the activation again. Not the outcome of an effect of
   * this activation: the LOAD of another one brought it.
   */
  | {
      type: 'resumed'
      activationId: ActivationId
      admission: 'granted' | 'budget_exhausted'
      decisions: Decision[]
      /** Somebody asked it to stop while it was parked (L34). */
      isCancelled: boolean
      /** Effect ids go on from here, past those that other activations have used. */
      nextEffectId: number
    }
  /** A summary stands for the oldest `replaced` messages of history and run (L20). */
  | {
      type: 'compacted'
      effectId: number
      startedAt: number
      summary: string
      replaced: number
      /** Estimated size of the prompt before and after. */
      tokensBefore: number
      tokens: number
      /** History entries left. */
      entries: number
      /** The model's call for it; null when nothing was processed. */
      charge: Charge | null
      /** Why the summary is an extract and not the model's; null when the model wrote it. */
      problem: string | null
    }
  | { type: 'slept'; effectId: number }
  /** The wall clock limit passed; `charge` is for a model call that was cut off. */
  | { type: 'time_ran_out'; charge: Charge | null }
  | { type: 'cancel_requested'; charge: Charge | null }
  /**
   * The machine died. `charge` is for a model call that was sent and whose answer is lost;
   * `unknownCallIds` are tool calls that may have run and must not run twice.
   */
  | {
      type: 'interrupted'
      unknownCallIds: string[]
      charge: Charge | null
      /** The end was decided before: only the commit was under way. */
      isEnded?: boolean
    }
  | { type: 'committed'; effectId: number; kind: 'done' | 'lost'; hasMore: boolean }
  | { type: 'commit_failed'; effectId: number; message: string; jitter: number }
)

export type LoopEventOf<Type extends LoopEvent['type']> = Extract<LoopEvent, { type: Type }>
