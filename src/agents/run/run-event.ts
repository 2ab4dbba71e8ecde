import type { ApprovalDecision, ApprovalRequest, Task } from '../../hub/contract/hub'
import type { ActivationError } from '../../shared/errors'
import type { ActivationId } from '../../shared/ids'
import type { HookTime, PlanStep, PromptSize, WorkspaceChanges } from '../contract/agents'
import type { Effect } from '../loop/effect'
import type { Charge, Limits, LoadedFacts, RequestParameters } from '../loop/event'
import type { Message, ModelUsage } from '../loop/message'
import type { ProgramPlace } from '../loop/program-event'

/** Changes with every change of `RunEvent` that a reader of stored logs must know about. */
export const runLogVersion = 3

/**
 * One run as a list of events: the public form of its journal. It is complete: definition version,
 * parameters of each request and results of tools (a long result is a handle to its file), so that
 * the run can be replayed from it. Everything that people see of a run is a fold over its log.
 */
export interface RunLog {
  version: typeof runLogVersion
  events: RunEvent[]
  /** Long texts were truncated to make the log fit, so the run cannot be replayed. */
  isTruncated?: true
  /** It used the account that its requester connected, so its texts are for nobody else. */
  usesOwnAccount?: true
}

/** A call that a model requested, with the id that it runs with. */
export interface RequestedCall {
  callId: string
  name: string
  /** Raw JSON as the model wrote it. */
  arguments: string
  isSequential: boolean
  /** The result of a call that is not run; null when it runs. */
  refusal: string | null
}

/** A call that an event ends without an outcome of its own. */
export interface ClosedCall {
  callId: string
  name: string
  /** The result, as an error. */
  text: string
  /** Since when the call ran; null when it did not run or that is unknown. */
  startedAt: number | null
}

/** The agent's own plan after a revision. */
export interface RevisedPlan {
  goal: string | null
  steps: { title: string; status: PlanStep['status'] }[]
}

/** An event of a run. `at` is milliseconds since the epoch. */
export type RunEvent = { at: number } & (
  | { type: 'woken'; activationId: ActivationId }
  | { type: 'load_waited'; retryAt: number; reason: string }
  | { type: 'load_failed'; code: string; message: string }
  | { type: 'load_found_nothing' }
  | {
      type: 'loaded'
      agent: string
      model: LoadedFacts['model']
      task: Task
      /** For whom the run acts, as names with roles; empty: the hub itself. */
      requesters: NonNullable<LoadedFacts['requesters']>
      session: string | null
      /** The task in the words of the requester; null when it has none. */
      goal: string | null
      definition: { version: number; etag: string }
      admission: LoadedFacts['admission']
      limits: Limits
      /** The prompt of the first call. The history of the session starts at `historyFrom`. */
      prompt: Message[]
      historyFrom: number
      /** Notes on the prompt. */
      notes: string[]
    }
  | {
      type: 'model_answered'
      /** From 1. */
      step: number
      startedAt: number
      request: RequestParameters | null
      input: PromptSize | null
      text: string
      reasoning: string
      finish: string
      usage: ModelUsage | null
      /** Parts of the provider that are sent back unread; JSON. */
      providerParts?: string
      calls: RequestedCall[]
      charge: Charge
      warning: string | null
      hooks: HookTime[]
    }
  | {
      type: 'model_failed'
      startedAt: number
      request: RequestParameters | null
      code: string
      message: string
      /** The provider's message. It can quote the prompt. */
      detail: string | null
      charge: Charge | null
    }
  | { type: 'model_refused'; reason: string }
  | { type: 'model_waited'; retryAt: number }
  /** Comments joined the run, with the names of their authors. */
  | { type: 'steered'; items: { author: string; isModeration: boolean; text: string }[] }
  | {
      type: 'tool_returned'
      startedAt: number
      durationMs: number
      callId: string
      name: string
      /** As they ran. */
      arguments: string
      text: string
      isError: boolean
      resultBytes: number
      grant: string | null
      /** The decision of the gateway; null when the gateway was not called. */
      decision: string | null
      /** Which standing rule allowed the call; absent: none did. */
      allowedBy?: string
      hooks: HookTime[]
      /** The plan, when the call revised it. */
      plan?: RevisedPlan
    }
  | {
      type: 'tool_parked'
      startedAt: number
      callId: string
      name: string
      approval: ApprovalRequest
      hooks: HookTime[]
    }
  | { type: 'parked'; isLost: boolean }
  | { type: 'park_failed' }
  | {
      type: 'resumed'
      admission: LoadedFacts['admission']
      decisions: ApprovalDecision[]
      isCancelled: boolean
      closed: ClosedCall[]
    }
  | {
      type: 'compacted'
      startedAt: number
      summary: string
      /** Number of messages that the summary replaced. */
      replaced: number
      tokensBefore: number
      tokens: number
      charge: Charge | null
      problem: string | null
    }
  | { type: 'slept' }
  /** `stopped` is what ran at that moment. */
  | {
      type: 'time_ran_out' | 'cancel_requested'
      charge: Charge | null
      stopped: Effect['type'] | null
      closed: ClosedCall[]
    }
  /** The server stopped and the run was resumed. `isEnded`: only the commit was left. */
  | { type: 'interrupted'; charge: Charge | null; isEnded: boolean; closed: ClosedCall[] }
  | { type: 'commit_failed' }
  | { type: 'committed'; isLost: boolean }
  /** Where the run of a program is. */
  | { type: 'program_placed'; attempt: number; place: ProgramPlace }
  /** A model request of a program; its outcome is `model_answered` or `model_failed`. */
  | { type: 'request_admitted'; request: number; protocol: string }
  | { type: 'tools_listed' }
  /** A program calls a tool of the hub; `tool_returned` follows. */
  | { type: 'program_called'; callId: string; name: string; arguments: string }
  /** What a program wrote. Its own tools are notes. */
  | {
      type: 'program_reported'
      attempt: number
      text: string
      reasoning: string
      notes: string[]
      /** When it revised its plan. */
      plan?: RevisedPlan
      /** What it changed in its workspace. */
      changes?: WorkspaceChanges
    }
  /** A call for which the program waited was decided in time. */
  | { type: 'program_call_decided' }
  /** The program could not wait any longer for an approval, so the run parks. */
  | { type: 'approval_overdue' }
  | { type: 'program_lost'; attempt: number; reason: string }
  /** `charge` is that of requests whose usage nobody reported. */
  | { type: 'program_closed'; requests: number; charge: Charge | null }
  | { type: 'nobody_notified' }
  /** Stands for steps that were removed to make the log fit. */
  | { type: 'omitted'; steps: number; charge: Charge }
  /** The outcome. The last event; `at` is when it was decided. */
  | {
      type: 'ended'
      finishedAt: number | null
      outcome: string
      error: ActivationError | null
      warning: string | null
      closed: ClosedCall[]
    }
)

export type RunEventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>
