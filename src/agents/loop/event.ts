import type {
  ApprovalDecision,
  ApprovalRequest,
  AuditEntry,
  BudgetShortage,
  Privacy,
  Requester,
  SteeringItem,
  Task,
} from '../../hub/contract/hub'
import type { ActivationErrorCode } from '../../shared/errors'
import type { ActivationId, CommentId, PostId } from '../../shared/ids'
import type { HookTime, PromptSize } from '../contract/agents'
import type { Charge } from './charge'
import type { Message, ModelAnswer, ModelFailure, ToolOutput } from './message'
import type { ProgramEvent, ProgramFacts } from './program-event'

export type { Charge } from './charge'

/** Limits of one activation, after profile, definition and hard ceilings are applied. */
export interface Limits {
  iterations: number
  tokens: number
  durationMs: number
  /** Size of the context window: prompt and answer together. */
  contextTokens: number
}

/** Facts from LOAD that later decisions and the commit need. */
export interface LoadedFacts {
  task: Task
  admission: 'granted' | 'budget_exhausted'
  /** Only when the budget is exhausted. */
  shortage?: BudgetShortage
  /** The reservation that LOAD made for the first model call. */
  reservation: { microusd: number; tokens: number }
  isPriced: boolean
  limits: Limits
  /**
   * The prompt of the first call; later calls only append to it. The task comes last. The history
   * of the session starts at `historyFrom`; a compaction may replace it.
   */
  prompt: Message[]
  historyFrom: number
  /** Estimated size of the first prompt, tools included. */
  promptTokens: number
  /**
   * Worst case of the first model call, with the text that is added to its prompt right before it.
   */
  firstCall?: { tokens: number; microusd: number }
  /** For whom the run acts; empty: the hub itself. Absent in journals of earlier versions. */
  requesters?: Pick<Requester, 'name' | 'role'>[]
  /** Whether the first prompt holds untrusted text, or what others wrote in an exploration. */
  hasUntrusted?: boolean
  /** Whose private data the run reads and writes; absent in journals of earlier versions: nobody's. */
  privacy?: Privacy
  /** Whether the first prompt holds data that is private to the reader. */
  hasPrivate?: true
  agentName: string
  model: { id: string; isOffline: boolean; substitutedFor: string | null }
  /** For a manual run: the model to call in place of the one in the definition. */
  modelOverride?: string
  /** The model that LOAD reserved money for. */
  reservedModel?: string
  definition: { version: number; etag: string }
  /**
   * Where the answer is posted, and the names of the requesters. Without a post the answer goes to
   * the inbox of the requester. Null: nobody waits for an answer, or the thread is gone.
   */
  answer: { postId: PostId | null; parentId: CommentId | null; requesters: string[] } | null
  /** Why no model can be called, e.g. an invalid definition; null when there is no such problem. */
  problem: { code: ActivationErrorCode; message: string } | null
  /** The coding agent that works on the task; absent for an agent that runs natively. */
  program?: ProgramFacts
  /** Of journals of earlier versions: posted in place of work that the hub could not do. */
  note?: string
  /** The session that stores this activation; absent when the agent has no memory. */
  session?: {
    id: string
    /** The text of the task as its session stores it, fenced. */
    task: string
    /** One line for other sessions; empty when they must not see it. */
    gist: string
  }
  /** The task is the command `/compact`, and whether its requesters can give it here; absent for any other task. */
  compact?: 'allowed' | 'denied'
  /** Notes on the prompt for readers of the trace. */
  notes?: string[]
  /** The task in the words of the requester; the goal of the plan until the agent sets one. */
  goal?: string
}

/** A tool call of an answer, with properties of its tool. */
export interface CallFacts {
  callId: string
  isSequential: boolean
}

/** The parameters of a model call; its messages follow from the journal. */
export interface RequestParameters {
  /** `provider/model`. */
  model: string
  maxOutputTokens: number
  temperature?: number
  topP?: number
  /** Names of the tools; absent when they are those of the previous call. */
  tools?: string[]
  /** The last message, which is in no other event. */
  status: string
}

/**
 * An event of the loop. `at` is milliseconds since the epoch. An event with an `effectId` is the
 * outcome of that effect and is ignored when the effect is no longer pending, so late, duplicate
 * and reordered events are harmless.
 */
export type LoopEvent = { at: number } & (
  | {
      type: 'woken'
      activationId: ActivationId
      replyId: CommentId
      reportId: PostId
      /** The scheduler lets the agent explore when its inbox is empty. */
      mayExplore?: true
      /** A comment arrived in the thread where the agent may be working. */
      maySteer?: true
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
      request?: RequestParameters
      answer: ModelAnswer
      charge: Charge
      calls: CallFacts[]
      /** The size of the prompt, for the trace. */
      input?: PromptSize
      /** A warning that the prompt comes close to the context window. */
      warning?: string
      hooks?: HookTime[]
    }
  | {
      type: 'model_failed'
      effectId: number
      startedAt: number
      request?: RequestParameters
      failure: ModelFailure
      /** Null when the provider processed nothing. */
      charge: Charge | null
      /** 0 to 1; spreads retries over time. */
      jitter: number
    }
  | {
      type: 'model_refused'
      effectId: number
      reason: 'lost' | 'paused' | 'budget_exhausted' | 'max_tokens'
      /** Only when a budget refused the call, with the least that the call needs. */
      shortage?: BudgetShortage
      needs?: { microusd: number; tokens: number }
    }
  | { type: 'model_waited'; effectId: number; retryAt: number }
  /**
   * Comments joined the run: found before a model call, which was not made, or, after an answer, by the effect
   * `steer`, which may find none.
   */
  | { type: 'steered'; effectId: number; items: SteeringItem[] }
  | ({
      type: 'tool_returned'
      effectId: number
      startedAt: number
      durationMs: number
      resultBytes: number
      /** The audit entry of the gateway; null when the gateway was not called. */
      audit: AuditEntry | null
      hooks?: HookTime[]
      /** The text is from outside of the hub, or a part of it is untrusted text of the hub. */
      isUntrusted?: true
      /** The text holds data that is private to the reader. */
      isPrivate?: true
      /** It is what the connected account of the requester returned, for nobody else. */
      isOwnAccount?: true
      /** The arguments that the tool ran with, when a hook changed those of the model. */
      arguments?: string
    } & ToolOutput)
  /** The gateway did not run the call: a person must approve the call first. */
  | {
      type: 'tool_parked'
      effectId: number
      callId: string
      name: string
      startedAt: number
      approval: ApprovalRequest
      audit: AuditEntry | null
      hooks?: HookTime[]
    }
  /**
   * `parked`: the hub stored the approvals and released slot and money. `lost`: the activation has
   * ended elsewhere.
   */
  | { type: 'parked'; effectId: number; kind: 'parked' | 'lost'; hasMore: boolean }
  | { type: 'park_failed'; effectId: number; message: string; jitter: number }
  /**
   * All approvals are decided and the hub runs the activation again. Not the outcome of an effect
   * of this activation: the LOAD of another activation returned it.
   */
  | {
      type: 'resumed'
      activationId: ActivationId
      admission: 'granted' | 'budget_exhausted'
      decisions: ApprovalDecision[]
      /** Whether a person stopped the activation while it was parked. */
      isCancelled: boolean
      /** Of the agent's definition when it was resumed; absent in older records. */
      definitionEtag?: string
      /** The next effect id, past those that other activations have used in between. */
      nextEffectId: number
    }
  /** A summary replaced the oldest `replaced` messages of history and run. */
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
      /** The cost of the model call for the summary; null when the provider processed nothing. */
      charge: Charge | null
      /** Why the summary is an extract; null when the model wrote it. */
      problem: string | null
    }
  | { type: 'slept'; effectId: number }
  /** The time limit was reached. `charge` is for a model call that was still in flight. */
  | { type: 'time_ran_out'; charge: Charge | null }
  | { type: 'cancel_requested'; charge: Charge | null }
  /**
   * The machine stopped and another one resumed the activation. `charge` is for a model call whose
   * answer is lost; `unknownCallIds` are tool calls that may have run and must not run twice.
   */
  | {
      type: 'interrupted'
      unknownCallIds: string[]
      charge: Charge | null
      /** The ending was already decided: only the commit was pending. */
      isEnded?: boolean
      /** The run is set aside: it was interrupted again while it worked alone. */
      isSetAside?: true
    }
  | { type: 'committed'; effectId: number; kind: 'done' | 'lost'; hasMore: boolean }
  | { type: 'commit_failed'; effectId: number; message: string; jitter: number }
  | ProgramEvent
)

export type LoopEventOf<Type extends LoopEvent['type']> = Extract<LoopEvent, { type: Type }>
