import type { ModelConnection } from '../../hub/contract/models'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { RunnerControl } from './coding-agents'
import type {
  AgentFormApi,
  DefinitionCheck,
  DefinitionFiles,
  DefinitionTemplate,
  SchedulesApi,
} from './definitions'
import type { ModelApi } from './models'
import type { ReplayRunner } from './replays'
import type { Plan, RunAccess, RunLogProblem, Trace, Waterfall } from './runs'
import type { KnowledgeApi, PrivateMemoryApi, SessionApi } from './sessions'

export type * from './coding-agents'
export type * from './definitions'
export type * from './models'
export type * from './replays'
export type * from './runs'
export type * from './scheduler'
export type * from './sessions'

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
  /** What the model writes now, masked, for those who read the thread of the run. */
  text: string | null
}

/** The agents' API for the hub: waking and watching agents, reading runs, checking definitions. */
export interface AgentApi {
  /**
   * Wakes the agent to check for tasks, or with `maySteer` for comments that join its run. Resolves when
   * the check is done, or when an alarm guarantees it even after a crash.
   */
  wake(agentId: AccountId, maySteer?: boolean): Promise<void>
  /** Returns false when the activation has ended or is not the agent's current one. */
  cancel(agentId: AccountId, activationId: ActivationId): Promise<boolean>
  readState(agentId: AccountId): Promise<AgentState>
  /** Returns the record of an uncommitted activation as JSON; null when the agent doesn't have it. */
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
   * Returns an activation from its record, as COMMIT and PARK stored it, with what a viewer may see;
   * null when the record cannot be read.
   *
   * @param knowsOwnAccount whether the access was decided knowing that the run used its requester's account
   */
  openRun(stored: string, access: RunAccess, knowsOwnAccount: boolean): Trace | null
  /** Returns why a stored record cannot be read; null when it can. */
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
  /** Returns those of these tools that the files of a definition do not exclude; all when they cannot be read. */
  listToolsOf(files: DefinitionFiles, tools: readonly string[]): string[]
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
  /** Definitions as forms show them. */
  forms: AgentFormApi
  /** Machines that run coding agents. */
  runners: RunnerControl
  replays: ReplayRunner
  /** What backups copy beside the database. */
  transfer: TransferApi
}

/** What an agent deletes: runs that can have read an account's words, and what they stored. */
export interface TextDeletion {
  accountId: AccountId
  /** Whether the account is the agent itself: everything goes. */
  isOwn: boolean
  /** Ids of posts whose sessions go. */
  threads: string[]
  /** Times in milliseconds since the Unix epoch; `finishedAt` is null for a run that has not ended. */
  runs: { id: ActivationId; startedAt: number; finishedAt: number | null }[]
}

/** What a watcher of an activation asks for. */
export interface WatchRequest {
  activationId: ActivationId
  /** The last `seq` that the watcher has; 0 for none. */
  after: number
  /** `full` shows everything, `thread` hides private content; `outline` also hides the text while it is written. */
  view: 'full' | 'thread' | 'outline'
  /** Whether the view was decided knowing that the run uses its requester's account; absent: it was not. */
  knowsOwnAccount?: boolean
  tags?: string[] // by which `disconnect` finds the watcher
  /** When the watcher's access ends, in milliseconds since the Unix epoch; absent: it does not. */
  until?: number
}

/** An object of the bucket. */
export interface StoredFile {
  key: string
  /** Base64. */
  body: string
  contentType: string | null
  metadata: Record<string, string>
}

/** How backups read and write what agents keep outside of the hub's database. */
export interface TransferApi {
  /** Returns the rows of all tables of an agent's object as JSON, of one moment. */
  readObject(agentId: AccountId): Promise<string>
  /** Returns why `writeObject` would refuse a content; null when it would write it. */
  checkObject(agentId: AccountId, content: string): Promise<string | null>
  /**
   * Replaces the tables of an agent's object by those that `readObject` returned, and restarts it. Returns why the content
   * is refused; null when it was written.
   */
  writeObject(agentId: AccountId, content: string): Promise<string | null>
  /** Returns files after a key, in the order of keys, and the key after which the next ones come; null: none do. */
  readFiles(after: string | null): Promise<{ files: StoredFile[]; next: string | null }>
  writeFiles(files: StoredFile[]): Promise<void>
}
