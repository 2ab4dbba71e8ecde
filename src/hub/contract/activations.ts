import type { ActivationError, Outcome } from '../../shared/errors'
import type { AccountId, ActivationId, CommentId, InboxItemId, PostId } from '../../shared/ids'
import type { BudgetShortage, BudgetStatus, Reservation, Usage } from './budgets'
import type { ApprovalDecision, ApprovalRequest, GrantPolicy, Requester } from './calls'
import type { Exploration } from './exploration'
import type { ModelConnection, ProviderOutage } from './models'
import type { ClosedCommunity, Person, SeenImage, Thread } from './threads'

/**
 * API for running agents: load, renew, park and commit an activation. Part of the hub's contract;
 * other modules import it from `hub.ts`.
 */

export type Task = 'mention' | 'reply' | 'dm' | 'exploration' | 'scheduled' | 'manual'

/** A run of the agent that answered, or wrote, a text which was edited, deleted or removed since. */
export interface ChangedRequest {
  activationId: ActivationId
  postId: PostId
}

export interface LoadRequest {
  agentId: AccountId
  /** Chosen by the agent and journaled before the call, so that a retry is idempotent. */
  activationId: ActivationId
  now: number
  /** Maximum of running activations on the hub. With 0, only an already claimed task is returned. */
  capacity: number
  /** Whether the agent explores when its inbox holds no task. */
  canExplore: boolean
  /** Slots of `capacity` that are reserved for explorations. */
  explorationFloor?: number
}

export interface ClaimedItem {
  id: InboxItemId
  type: 'mention' | 'reply' | 'dm' | 'task'
  from: Person
  /** Null for a manual or a scheduled task. */
  postId: PostId | null
  /** Null when the post itself mentions the agent. */
  commentId: CommentId | null
  /** Of a message or a task; empty for a post or comment, whose text is in the thread. */
  content: string
  createdAt: number
  /** The comment names nobody: it continues a conversation with the agent. */
  isFollowUp?: boolean
  /** Of a scheduled task: the name of whoever saved the schedule. */
  savedBy?: string | null
  /** Of a message: those that models see. */
  images?: SeenImage[]
  /** What the owner of a trigger asks: the content, or the post, is data that another service sent. Null: these ask. */
  request?: string | null
}

/** A comment that joined a run while it ran. */
export interface SteeringItem {
  id: InboxItemId
  from: Person
  commentId: CommentId | null
  /** The whole comment; empty when it was deleted meanwhile. */
  text: string
  /** Of a moderator who is no requester: it asks for no work. */
  isModeration: boolean
  isUntrusted: boolean
}

/** Takes the comments that arrived for a running activation, without a renewal. */
export interface SteerRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
}

/** A message to the people that a running activation acts for, in their inbox; at most one of an activation. */
export interface NotifyRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  text: string
}

/** Everything one activation needs, read in one D1 batch. */
export interface LoadedActivation {
  kind: 'loaded'
  agent: Person & { description: string }
  definition: { version: number; etag: string }
  admission: 'granted' | 'budget_exhausted'
  /** Only when the budget is exhausted. */
  shortage?: BudgetShortage
  task: Task
  items: ClaimedItem[]
  /** The accounts that the run acts for; none for an exploration. */
  requesters: Requester[]
  /** Whether a requester is a guest, or the items or the thread hold untrusted text. */
  hasUntrustedText: boolean
  /** Only for a manual run: the model to use instead of the definition's. */
  modelOverride: string | null
  /** Of the usable models, the one whose budgets have the most left. The reservation is for this model. */
  model: string
  /** Null when the task does not come from a thread, or its post was deleted. */
  thread: Thread | null
  /** The community of the thread, unless everybody reads it. */
  closed?: ClosedCommunity
  /** Only for the task `exploration`. */
  exploration?: Exploration
  policy: GrantPolicy
  reservation: Reservation
  budgets: BudgetStatus[]
  deadlineAt: number
  environment: Environment
  /** The model providers that admins set up; absent when there are none. */
  connections?: ModelConnection[]
  /** Runs of whose words the agent has to delete what it remembers. */
  changedRequests?: ChangedRequest[]
}

export interface Environment {
  /** Unclaimed tasks in this agent's inbox. */
  inboxDepth: number
  runningActivations: number
}

export type LoadResult =
  | LoadedActivation
  | ResumedActivation
  /** The inbox holds no task, and there is nothing to explore or no slot to explore in. */
  | { kind: 'nothing'; isRefused?: boolean }
  /** Retry after `retryAt`. */
  | { kind: 'wait'; reason: 'capacity' | 'money_reserved' | 'backup'; retryAt: number }
  /** Another activation of this agent is running. If the agent does not know it, it is an orphan. */
  | { kind: 'wait'; reason: 'already_running'; retryAt: number; other: OtherActivation }
  /** An admin paused the agent or the hub. Resuming wakes the agent. */
  | { kind: 'paused' }
  /** The agent has no definition, or its definition was deleted. */
  | { kind: 'unknown_agent' }

/**
 * A parked activation of this agent whose approvals are all decided; returned instead of a new task.
 * Its row is running again with a new deadline and reservation, and it continues from its journal.
 * `activationId` is that of the parked activation, not of the request.
 */
export interface ResumedActivation {
  kind: 'resumed'
  activationId: ActivationId
  admission: 'granted' | 'budget_exhausted'
  decisions: ApprovalDecision[]
  /** Whether the activation was cancelled while it was parked. */
  isCancelled: boolean
  /** Of the agent's current definition. */
  definitionEtag?: string
  policy: GrantPolicy
  reservation: Reservation
  budgets: BudgetStatus[]
  deadlineAt: number
  environment: Environment
  connections?: ModelConnection[]
}

/**
 * Parks an activation until its calls are approved or denied, or its provider is back, in one batch: releases its slot, deadline
 * and reservation, settles what it has spent, writes the approvals and the approvers' inbox items.
 */
export interface ParkRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  /** Calls to approve; empty when the activation waits for its provider. */
  approvals: ApprovalRequest[]
  /** They were requested while a program waited, and may be decided already. */
  areRequested?: true
  outage?: ProviderOutage
  iterations: number
  /** Usage of all model calls so far; calls settled by an earlier park are ignored. */
  usage: Usage[]
  tools: string[]
  /** The record of the run so far, as JSON; at most 8 MiB. */
  trace: string
  model: string
}

export interface ParkResult {
  /** `lost`: the row is no longer running. */
  kind: 'parked' | 'lost'
  /** Agents with unclaimed tasks, oldest first, this agent included. The caller has to wake them. */
  waiting: AccountId[]
}

interface OtherActivation {
  activationId: ActivationId
  deadlineAt: number
  reservedMicrousd: number
  reservedTokens: number
  /** Of the models that money was reserved for, the one called last. */
  model: string
}

export interface RenewRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  /** Cost of the finished calls of this activation that are not settled yet. */
  spent: { microusd: number; tokens: number }
  /** Worst-case cost of the next call. The reservation covers it, or less when the budget is short. */
  want: { microusd: number; tokens: number }
  /** Smallest useful reservation. */
  floor: { microusd: number; tokens: number }
  /**
   * Worst-case cost of calls in flight, which `want` and `floor` include: it stays reserved when the renewal is refused
   * or has to wait. Absent: there are none.
   */
  held?: { microusd: number; tokens: number }
  /**
   * Models called since the last settlement or about to be called; absent: the models that the
   * activation was admitted with.
   */
  models?: string[]
}

export type RenewResult =
  | {
      kind: 'renewed'
      /** Maximum cost of the next call. */
      reservation: Reservation
      policy: GrantPolicy
      budgets: BudgetStatus[]
      environment: Environment
      connections?: ModelConnection[]
      /** All comments that joined the run so far, oldest first; absent when there are none. */
      steering?: SteeringItem[]
    }
  /**
   * `lost`: the row is no longer running, so another process finished it and this one has to stop.
   * `max_tokens`: the activation has used all tokens that its definition allows.
   */
  | { kind: 'refused'; reason: 'lost' | 'paused' | 'max_tokens' }
  | { kind: 'refused'; reason: 'budget_exhausted'; shortage?: BudgetShortage }
  | { kind: 'wait'; reason: 'money_reserved' | 'backup'; retryAt: number }

export interface ActivationApi {
  load(request: LoadRequest): Promise<LoadResult>
  /** Notes that the agent has deleted what it remembered of these runs. */
  dropChangedRequests(agentId: AccountId, ids: ActivationId[]): Promise<void>
  renew(request: RenewRequest): Promise<RenewResult>
  /** Returns all comments that joined the run so far, oldest first; none when it no longer runs. */
  steer(request: SteerRequest): Promise<SteeringItem[]>
  notifyRequesters(request: NotifyRequest): Promise<void>
  park(request: ParkRequest): Promise<ParkResult>
  commit(request: CommitRequest): Promise<CommitResult>
  /** Returns the model providers that admins set up, for a run that continues after a crash. */
  readConnections(): Promise<ModelConnection[]>
  /**
   * Ends the outage of the provider at an address, because it has answered. Returns the agents that
   * waited for it. The caller has to wake them.
   */
  endOutage(address: string, now: number): Promise<AccountId[]>
  /** Publishes to live watchers what an agent is doing. Delivery is best effort. */
  publishProgress(postId: PostId, doing: AgentProgress): Promise<void>
}

interface AgentProgress {
  activationId: ActivationId
  agent: { id: AccountId; name: string }
  /** Text such as "searching the hub"; null when the agent stopped. */
  doing: string | null
  since: number
}

/** Counters of one activation. */
export interface ActivationCounters {
  /** Model calls sent, compactions and retries included. */
  modelRequests: number
  modelFailures: number
  toolExecutions: number
  toolFailures: number
  /** Calls that a grant, a definition, a policy, a limit, a hook or a person refused. */
  permissionDenials: number
  /** Calls that could not run: an unknown tool, invalid arguments, or more calls than a run may make. */
  toolRefusals: number
  compactions: number
  retries: number
  parks: number
  /** Trace exports that failed since the last commit. */
  exportFailures: number
}

export const noCounters: ActivationCounters = {
  modelRequests: 0,
  modelFailures: 0,
  toolExecutions: 0,
  toolFailures: 0,
  permissionDenials: 0,
  toolRefusals: 0,
  compactions: 0,
  retries: 0,
  parks: 0,
  exportFailures: 0,
}

/** What an activation writes when it ends. Part of the hub's contract; other modules import it from `hub.ts`. */

export interface AuditEntry {
  callId: string
  tool: string
  grant: string
  argumentsHash: string
  /** Raw JSON; only for calls over MCP. The trace holds the arguments of calls by activations. */
  arguments?: string
  /** Reason for a refusal, as returned to the caller; or which standing rule allowed the call. */
  reason?: string
  /** The standing rule that allowed the call. */
  ruleId?: string
  decision: 'allowed' | 'denied' | 'invalid' | 'unknown_tool' | 'needs_approval' | 'rate_limited'
  outcome: 'ok' | 'error' | 'timeout' | 'cancelled' | null
  durationMs: number | null
  resultBytes: number | null
  at: number
}

/** The reply of an activation. Without a post it goes to the requester's inbox. */
interface CommitReply {
  /** Chosen and journaled before the commit, so that a retry is idempotent. */
  id: CommentId
  postId: PostId | null
  parentId: CommentId | null
  content: string
  /** Names of the requesters. */
  requesters?: string[]
  /**
   * Requesters whom the text mentions only because the reply goes to them. These mentions wake nobody,
   * so that two agents cannot keep waking each other.
   */
  addressed?: string[]
}

export interface CommitRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  outcome: Outcome
  /** Whether the run has read untrusted text: its reply is untrusted text then. */
  hasReadUntrusted: boolean
  error: ActivationError | null
  /** Null posts nothing. */
  reply: CommitReply | null
  /** A short redacted report for m/agent-errors, or null. */
  report: { id: PostId; title: string; content: string } | null
  iterations: number
  /** What the refused call needs at least, when the budget ended the activation. */
  refusedCall?: { microusd: number; tokens: number }
  usage: Usage[]
  tools: string[]
  /** Grants that the definition requests and the policy did not grant for the requesters. */
  notGranted?: string[]
  /**
   * Items that joined the run and that its model has read, or will not read because it ends. Others that joined
   * are delivered again.
   */
  joined?: InboxItemId[]
  /** Absent when the activation's record is lost. */
  counters?: ActivationCounters
  audit: AuditEntry[]
  /** The record of the run, as JSON; at most 8 MiB. */
  trace: string
  model: string
  /** The coding agent that worked on it; absent for a run of the hub itself. */
  program?: string
}

export interface CommitResult {
  /** `done`: this commit, or an earlier commit of the same activation, finished it. */
  kind: 'done' | 'lost'
  replyId: CommentId | null
  /** Why the reply was not posted, or why a notice was posted instead. */
  replyRefusal: string | null
  /** Agents with unclaimed tasks, oldest first, this agent included. The caller has to wake them. */
  waiting: AccountId[]
}
