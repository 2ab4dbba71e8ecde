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
import type { ToolReads } from '../../mcp-servers/contract/tools'
import type { ActivationErrorCode } from '../../shared/errors'
import type { ActivationId, CommentId, PostId } from '../../shared/ids'
import type { ModelProtocol, ProgramType, RunReport } from '../../shared/runner-protocol'
import type { CallUsage, HookTime, PromptSize } from '../contract/agents'
import type { ModelRequestRefusal, ModelRequestResult } from '../contract/coding-agents'
import type { Message, ModelAnswer, ModelFailure, ModelUsage, ToolOutput } from './message'

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
  /** Where each message of the prompt comes from; absent without a prompt. */
  layers?: PromptLayer[]
  /** What chose skills by their triggers: the words of the task, unless the goal has them all, and its community. */
  words?: string
  community?: string
  /** Ids of what the agent remembered: facts and open tasks, and the turns of the session. */
  recalled?: { facts: number[]; tasks: number[]; turns: ActivationId[] }
  /** Estimated size of the first prompt, tools included. */
  promptTokens: number
  /**
   * Worst case of the first model call, with the text that is added to its prompt right before it.
   */
  firstCall?: { tokens: number; microusd: number }
  /** For whom the run acts; empty or absent: the hub itself. */
  requesters?: Pick<Requester, 'name' | 'role'>[]
  /** Whether the first prompt holds untrusted text, or what others wrote in an exploration. */
  hasUntrusted?: boolean
  /** Whose private data the run reads and writes; absent: nobody's. */
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

/** The part of a prompt that a message is. Only some of them are made from the definition. */
export type PromptLayer =
  | 'definition'
  | 'bootstrap'
  | 'memory'
  | 'skills'
  | 'tool_guide'
  | 'tool_servers'
  | 'history'
  | 'task'

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
  /** With `tools`: a hash of their descriptions and schemas, which changes when one of them does. */
  toolsHash?: string
  /** The first message, when hooks changed it; null when it is too long to be kept. */
  systemPrompt?: string | null
  /** The last message, which is in no other event. */
  status: string
}

/** The model call that was in flight when a run was stopped. */
export interface StoppedCall {
  /** For its prompt and what had arrived; null when there was none. */
  charge: Charge | null
  /** What it had written; absent when that is nothing. */
  text?: string
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
      /** The text is the beginning of a longer result: the rest is in no event. */
      isExcerpt?: true
      /** What the result was made of. */
      reads?: ToolReads
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
      /** Of the agent's definition when it was resumed; absent when the decisions did not arrive. */
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
  | ({ type: 'time_ran_out' } & StoppedCall)
  | ({ type: 'cancel_requested' } & StoppedCall)
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

/** What the loop has to know of the coding agent that works on a task. */
export interface ProgramFacts {
  type: ProgramType
  /** Whether it uses the hub's tools; then it must have listed them. */
  takesTools: boolean
  /** The repository that it works on, as `service/owner/name`. */
  repository?: string
  /** Who may go on in its session; absent: nobody. */
  audience?: string
  /** The session that an earlier run of the thread has left, to be loaded where the runner has it. */
  sessionId?: string
}

type Ended = Extract<RunReport, { kind: 'ended' }>
type Changes = NonNullable<Ended['changes']>

/** The last report as the journal stores it: a patch is too long for a row. */
type StoredEnd = Omit<Ended, 'changes'> & {
  /** `patchChars`: of the patch, which is stored elsewhere; 0: none is. */
  changes: (Omit<Changes, 'patch'> & { patchChars: number }) | null
}

export type StoredReport = Exclude<RunReport, Ended> | StoredEnd

/** Refusals of a model request that end the run; the program may ask again after any other. */
export type FinalRefusal = Exclude<ModelRequestRefusal, 'not_running' | 'wrong_model'> | 'lost'

/**
 * Events of a run on a runner. Those with an attempt are ignored when another attempt is the current one: what a
 * lost runner says later changes nothing.
 */
type ProgramEvent =
  /** What the runners' object answered to the order. */
  | { type: 'program_placed'; attempt: number; kind: ProgramPlace }
  /** Written before the request is sent to the provider; `worst` is its charge if its usage gets lost. */
  | {
      type: 'request_admitted'
      attempt: number
      request: number
      protocol: ModelProtocol
      worst: Charge
      /** It asks for another model than the run's: a title or a summary beside the turn. */
      isAside?: true
      /** The renewal took comments that join the run. */
      maySteer?: true
    }
  | {
      type: 'request_settled'
      request: number
      /** When it was admitted. */
      startedAt: number
      status: number | null
      finish: ModelRequestResult['finish']
      usage: ModelUsage | null
      /** Null when the provider processed nothing. */
      charge: Charge | null
      problem: string | null
    }
  | {
      type: 'request_refused'
      attempt: number
      reason: FinalRefusal
      /** Only when a budget refused the request, with the least that it needs. */
      shortage?: BudgetShortage
      needs?: { microusd: number; tokens: number }
    }
  | { type: 'tools_listed'; attempt: number }
  /** Written before a call of the hub's tools runs. */
  | {
      type: 'program_called'
      attempt: number
      callId: string
      name: string
      /** Raw JSON. */
      arguments: string
      /** Whether the call may change something. */
      isWrite: boolean
    }
  /** A call requires approval, and the program waits for the decision, at most until a time. */
  | {
      type: 'program_call_waits'
      attempt: number
      callId: string
      /** Its own id is that of the call that was first made with these arguments. */
      approval: ApprovalRequest
      until: number
    }
  /** The decision arrived in time, so the call goes on. */
  | { type: 'program_call_decided'; attempt: number; callId: string }
  /** The program has waited for as long as it can: its run parks. */
  | { type: 'approval_overdue'; attempt: number }
  | {
      type: 'program_call_returned'
      callId: string
      startedAt: number
      durationMs: number
      text: string
      isError: boolean
      resultBytes: number
      grant: string | null
      decision: string
      isUntrusted?: true
      isPrivate?: true
      isOwnAccount?: true
      isExcerpt?: true
      reads?: ToolReads
      /** It is the result of the same call in an earlier attempt: the call did not run again. */
      isRecorded?: true
    }
  | { type: 'program_reported'; attempt: number; first: number; reports: StoredReport[] }
  /** The runner is gone for good, or refused the order. */
  | { type: 'program_lost'; attempt: number; reason: string }
  /** `charge` is the worst case of these requests, whose usage nobody has reported. */
  | { type: 'program_closed'; effectId: number; requests: number[]; charge: Charge | null }
  | { type: 'nobody_notified'; effectId: number }

/** `asked`: no answer yet. `unreachable`: the runners' object did not answer. */
export type ProgramPlace = 'asked' | 'started' | 'busy' | 'nobody' | 'unreachable'

/** The cost of one model call, or its worst case when the answer was lost. */
export interface Charge extends CallUsage {
  /** The model that was called; absent: that of the run. */
  model?: string
  /** What the call took beyond its reservation, because the provider counted more input tokens. */
  overrun?: { tokens: number; microusd: number }
  /** Why the charge differs from the usage that the provider reported, as a sentence. */
  doubt?: string
}
