/**
 * The agents' API for the hub: waking and watching agents, reading traces, checking definitions.
 * Types only.
 */
import type { ModelConnection } from '../../hub/contract/models'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { DefinitionCheck, DefinitionFiles, DefinitionTemplate } from './definitions'
import type { KnowledgeApi } from './knowledge'
import type { ModelApi } from './models'
import type { PrivateMemoryApi } from './private-memory'
import type { RunnerControl } from './runners'
import type { SchedulesApi } from './schedules'
import type { SessionApi } from './sessions'
import type { TextDeletion } from './text-deletion'
import type { TransferApi } from './transfer'
import type { WatchRequest } from './watching'
import type { Waterfall } from './waterfall'

export type * from './definitions'
export type * from './knowledge'
export type * from './models'
export type * from './private-memory'
export type * from './runners'
export type * from './schedules'
export type * from './sessions'
export type * from './text-deletion'
export type * from './transfer'
export type * from './watching'
export type * from './waterfall'

export interface AgentState {
  state: 'asleep' | 'working' | 'waiting'
  activationId: ActivationId | null
  /** What the agent does now, for people, e.g. "searching the hub". */
  doing: string | null
  /** Why the agent waits; null unless `waiting`. */
  reason: string | null
  /** When the wait ends, in milliseconds since the epoch. */
  nextAt: number | null
  /** Plan of the running activation. */
  plan: Plan | null
  /** The plan as everyone may see it. */
  publicPlan: Plan | null
}

export interface AgentApi {
  /**
   * Wakes the agent to check for tasks, or with `maySteer` for comments that join its run. Resolves when
   * the check is done, or when an alarm guarantees it even after a crash.
   */
  wake(agentId: AccountId, maySteer?: boolean): Promise<void>
  /** Returns false when the activation has ended or is not the agent's current one. */
  cancel(agentId: AccountId, activationId: ActivationId): Promise<boolean>
  readState(agentId: AccountId): Promise<AgentState>
  /** Returns the log of an uncommitted activation as JSON; null when the agent doesn't have it. */
  readRunLog(agentId: AccountId, activationId: ActivationId): Promise<string | null>
  /**
   * Opens a WebSocket on an activation. It sends the events after `after` and the text so far, then
   * both as they occur. `full` includes reasoning, arguments and results, like the trace.
   */
  watch(agentId: AccountId, watched: WatchRequest, request: Request): Promise<Response>
  /** Returns what a program changed in a repository, as a patch; null when none is stored. */
  readPatch(agentId: AccountId, activationId: ActivationId, attempt: number): Promise<string | null>
  /** Deletes what the agent stores of an account's words. Idempotent. */
  deleteTexts(agentId: AccountId, request: TextDeletion): Promise<void>
  /** Deletes the files that agents keep for an account, and its own. Idempotent. */
  deleteFiles(accountId: AccountId): Promise<void>
  /** Closes the agent's sockets with any of the tags. */
  disconnect(agentId: AccountId, tags: string[]): Promise<void>
  /** Closes all of the agent's sockets with 1001. */
  announceStop(agentId: AccountId): Promise<void>
  /** Ends the turns of interrupted runs: the process stops in order, which is no run's fault. */
  endTurns(): Promise<void>
  /** Returns how many of the agent's sockets have a tag. */
  countSockets(agentId: AccountId, tag: string): Promise<number>
  /**
   * Returns an activation from its log, as COMMIT and PARK stored it, with what a viewer may see;
   * null when the log cannot be read.
   *
   * @param knowsOwnAccount whether the access was decided knowing that the run used its requester's account
   */
  openRun(stored: string, access: RunAccess, knowsOwnAccount: boolean): Trace | null
  /** Returns why a stored log cannot be read; null when it can. */
  findRunLogProblem(stored: string): RunLogProblem | null
  /** Converts an activation to OpenTelemetry: an ExportTraceServiceRequest in JSON. */
  toOtlp(run: Waterfall): object
  /**
   * Checks a definition against what the hub has now.
   *
   * @param connections the model providers that admins set up. Without them they are read, and so are the tools of
   *   remote servers, which only warnings depend on
   */
  checkDefinition(
    files: DefinitionFiles,
    connections?: readonly ModelConnection[],
  ): Promise<DefinitionCheck>
  /**
   * Returns the `provider/model` that this agent would call with `model` as override.
   *
   * @throws VALIDATION when the hub cannot call the model
   */
  checkModel(agent: { name: string; etag: string }, model: string): Promise<string>
  /** Returns those of these tools that the agent's definition does not exclude; all when it cannot be used. */
  listUsableTools(agent: { name: string; etag: string }, tools: string[]): Promise<string[]>
  /** Stores the files in R2 under their etag, where agents read them. */
  saveDefinition(name: string, etag: string, files: DefinitionFiles): Promise<void>
  /** Deletes the files of a version. Idempotent. */
  deleteDefinition(name: string, etag: string): Promise<void>
  /** Returns the files of a version; null when they are not complete. */
  readDefinition(name: string, etag: string): Promise<DefinitionFiles | null>
  /** Definitions to start from. */
  templates: readonly DefinitionTemplate[]
  models: ModelApi
  sessions: SessionApi
  privateMemory: PrivateMemoryApi
  knowledge: KnowledgeApi
  schedules: SchedulesApi
  /** Machines that run coding agents. */
  runners: RunnerControl
  /** What backups copy beside the database. */
  transfer: TransferApi
}

export type * from './scheduler'

/** A run as its pages and the API show it. */
export interface Trace extends Waterfall {
  plan: Plan
  events: RuntimeEvent[]
}

// ---------------------------------------------------------------- watching

/**
 * An event of an activation, as clients receive it. `seq` counts from 1 without gaps and is the same
 * for every client at any time. Texts are bounded excerpts.
 */
export type RuntimeEvent = {
  seq: number
  activation_id: ActivationId
  /** ISO 8601. */
  at: string
} & RuntimeEventBody

export type RuntimeEventBody =
  | { kind: 'task'; type: 'woken' }
  | { kind: 'task'; type: 'started'; agent: string; model: string }
  | { kind: 'task'; type: 'parked'; tools: string[] }
  | { kind: 'task'; type: 'resumed'; decisions: { call_id: string; decision: string }[] }
  /** A comment joined the run. */
  | { kind: 'task'; type: 'steered'; from: string; is_moderation: boolean; text: string }
  /** The outcome is decided; the commit follows. */
  | { kind: 'task'; type: 'response'; outcome: string; error: Waterfall['error'] }
  | {
      kind: 'model'
      type: 'step-finish'
      step: number
      finish_reason: string
      text: string
      reasoning: string
      model_ms: number
    }
  | { kind: 'model'; type: 'compacted'; messages: number; tokens_before: number; tokens: number }
  | {
      kind: 'metrics'
      type: 'usage'
      step: number
      input_tokens: number
      cached_tokens: number
      output_tokens: number
      cost_microusd: number
      is_priced: boolean
      is_estimated: boolean
    }
  | { kind: 'tool'; type: 'tool-call'; call_id: string; name: string; arguments: string }
  | {
      kind: 'tool'
      type: 'tool-result'
      call_id: string
      name: string
      is_error: boolean
      text: string
      duration_ms: number
    }
  /** `quote` is the provider's message. */
  | { kind: 'warning'; type: 'warning'; code: string; text: string; quote?: string }
  /** `steps` are the agent's own, sent when the agent revises them; tool calls have their own events. */
  | {
      kind: 'plan'
      type: 'plan'
      goal: string | null
      progress: number
      steps?: { title: string; status: string }[]
    }

/** Goal, steps and progress of an activation. */
export interface Plan {
  /** The task, until the agent sets a goal; null when the task has no words. */
  goal: string | null
  /** The agent's own steps, then its tool calls in the order they were requested. */
  steps: PlanStep[]
  /** 0 to 1: of the agent's own steps when it wrote any, else of its tool calls. */
  progress: number
}

export interface PlanStep {
  /** The id of the tool call that is this step; null for a step that the agent wrote itself. */
  callId: string | null
  /** What the agent wrote, or the name of the tool. */
  title: string
  status: 'pending' | 'running' | 'completed' | 'failed'
  /** Excerpt of the result of a completed call. */
  output: string | null
  /** Why the step failed, or how the end of the run settled it. */
  reason: string | null
}

/**
 * Why a stored log cannot be read: it is truncated or damaged, another version of the hub wrote it, or
 * it has this version and lacks something.
 */
export type RunLogProblem = 'not_json' | 'other_version' | 'invalid'

/**
 * How much of a run's private content a viewer sees: everything, the final text only, or none of
 * it.
 */
export type RunAccess = 'all' | 'answer' | 'none'
