/**
 * What the hub offers agents at work: claim and read, renew, commit. Part
 * of the hub's contract; other rooms import it from `contract.ts`.
 */
import type { Outcome } from '../errors'
import type { AccountId, ActivationId, CommentId, InboxItemId, PostId } from '../ids'
import type { ApprovalDecision, ApprovalRequest } from './contract-approvals'
import type { BudgetStatus, Reservation, Usage } from './contract-budgets'
import type { Exploration } from './contract-exploration'

export type AccountKind = 'human' | 'agent' | 'system'

export interface Person {
  id: AccountId
  name: string
  kind: AccountKind
}

export interface GrantPolicy {
  /** What the agent's definition asks for; null for people and outside agents, who ask for all. */
  requested: string[] | null
  allowed: string[]
  denied: string[]
  /** Counts changes of others' servers (M12); absent: there never was one. */
  toolsVersion?: number
}

export interface AuditEntry {
  callId: string
  tool: string
  grant: string
  argumentsHash: string
  /** Raw JSON of a call from outside; those of an activation are in its trace. */
  arguments?: string
  /** Why it was refused, as the caller was told. */
  reason?: string
  decision: 'allowed' | 'denied' | 'invalid' | 'unknown_tool' | 'needs_approval' | 'rate_limited'
  outcome: 'ok' | 'error' | 'timeout' | 'cancelled' | null
  durationMs: number | null
  resultBytes: number | null
  at: number
}

export type Task = 'mention' | 'reply' | 'dm' | 'exploration' | 'scheduled' | 'manual'

export interface LoadRequest {
  agentId: AccountId
  /** Chosen by the agent before the call and journaled, so that a repeat is harmless. */
  activationId: ActivationId
  now: number
  /** Running activations allowed on the hub (S3). With 0 only what is claimed already is told. */
  capacity: number
  /** With no task in its inbox the agent may look around (S1); so many slots are kept for that (S3). */
  mayExplore: boolean
  explorationFloor?: number
}

export interface ThreadComment {
  id: CommentId
  parentId: CommentId | null
  author: Person
  content: string
  createdAt: number
}

export interface Thread {
  post: {
    id: PostId
    community: string
    author: Person
    title: string
    content: string
    url: string | null
    createdAt: number
    isLocked: boolean
  }
  /** Oldest first: the paths to the comments that asked, and the newest others. */
  comments: ThreadComment[]
  commentCount: number
}

export interface ClaimedItem {
  id: InboxItemId
  type: 'mention' | 'reply' | 'dm' | 'task'
  from: Person
  /** Null for a task given by hand or by a schedule. */
  postId: PostId | null
  /** Null when the post itself asks. */
  commentId: CommentId | null
  /** The beginning of what was said; of a task all its words. */
  content: string
  createdAt: number
}

/** Everything one activation needs, read in one D1 batch (L37). */
export interface Load {
  kind: 'loaded'
  agent: Person & { description: string }
  definition: { version: number; etag: string }
  admission: 'granted' | 'budget_exhausted'
  task: Task
  items: ClaimedItem[]
  /** Of a manual run: the model to use in place of the definition's. */
  modelOverride: string | null
  /** The one of the models that could do it whose budgets have the most left (B6): money is reserved for it. */
  model: string
  /** Null when there is none: the task is not said in a thread, or its post was deleted. */
  thread: Thread | null
  /** Of the task `exploration` only. */
  exploration?: Exploration
  policy: GrantPolicy
  reservation: Reservation
  budgets: BudgetStatus[]
  deadlineAt: number
  environment: Environment
}

export interface Environment {
  /** Tasks in this agent's inbox that nobody has claimed. */
  inboxDepth: number
  runningActivations: number
}

export type LoadAnswer =
  | Load
  | Resumed
  /** The inbox holds no task and nothing is to be seen, or there was no room to look: nothing to do. */
  | { kind: 'nothing'; isRefused?: boolean }
  /** Not now: try again after `retryAt`. */
  | { kind: 'wait'; reason: 'capacity' | 'money_reserved'; retryAt: number }
  /** Another activation of this agent runs: one this agent knows nothing of is an orphan. */
  | { kind: 'wait'; reason: 'already_running'; retryAt: number; other: OtherActivation }
  /** An admin paused the agent or the hub; resuming wakes it (H21). */
  | { kind: 'paused' }
  /** The agent has no definition (any more). */
  | { kind: 'unknown_agent' }

/**
 * In place of a new task: a parked activation of this agent whose approvals are all decided. Its row
 * runs again, with a new deadline and reservation; what it does next starts from its own journal.
 * `activationId` is that of the parked activation, not of the request.
 */
export interface Resumed {
  kind: 'resumed'
  activationId: ActivationId
  admission: 'granted' | 'budget_exhausted'
  decisions: ApprovalDecision[]
  /** Somebody asked it to stop while it was parked (L34). */
  isCancelled: boolean
  policy: GrantPolicy
  reservation: Reservation
  budgets: BudgetStatus[]
  deadlineAt: number
  environment: Environment
}

/**
 * Gives up slot, deadline and reservation of an activation while people decide on its calls; settles
 * what it has spent so far; writes the approvals and the approvers' inbox items. One batch (L30).
 */
export interface ParkRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  approvals: ApprovalRequest[]
  iterations: number
  /** Of all calls so far; those settled by an earlier park are ignored. */
  usage: Usage[]
  tools: string[]
  /** JSON of the trace so far; at most 512 KiB. */
  trace: string
  model: string
}

export interface ParkAnswer {
  /** `lost`: the row is no longer running. */
  kind: 'parked' | 'lost'
  /** Agents with unclaimed tasks, oldest first, this one included: wake them (S2). */
  waiting: AccountId[]
}

export interface OtherActivation {
  activationId: ActivationId
  deadlineAt: number
  reservedMicrousd: number
  reservedTokens: number
  /** Of those that money was reserved for, the one it called last. */
  model: string
}

export interface RenewRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  /** Spent by finished calls of this activation and not yet settled. */
  spent: { microusd: number; tokens: number }
  /** Worst case of the next call; the answer's reservation covers it or is smaller. */
  want: { microusd: number; tokens: number }
  floor: { microusd: number; tokens: number }
  /** Called since the last settlement, and about to be called; absent: those it was admitted with. */
  models?: string[]
}

export type RenewAnswer =
  | {
      kind: 'renewed'
      /** What the next call may cost at most. */
      reservation: Reservation
      policy: GrantPolicy
      budgets: BudgetStatus[]
      environment: Environment
    }
  /** `lost`: the row is no longer running, so somebody else finished it: stop at once. */
  /** `max_tokens`: its definition allows one activation no more (B5). */
  | { kind: 'refused'; reason: 'lost' | 'paused' | 'budget_exhausted' | 'max_tokens' }
  | { kind: 'wait'; reason: 'money_reserved'; retryAt: number }

/** What one activation did, in numbers (L44). */
export interface ActivationCounters {
  /** Calls of a model that were sent, those of compactions and retries included. */
  modelRequests: number
  modelFailures: number
  toolExecutions: number
  toolFailures: number
  permissionDenials: number
  compactions: number
  retries: number
  parks: number
  /** Traces that a collector did not take since the last commit. */
  exportFailures: number
}

export interface CommitRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  outcome: Outcome
  error: { code: string; message: string } | null
  /**
   * Null posts nothing. `id` is chosen and journaled before the commit. Without a post it goes to the
   * inbox of who gave the task.
   */
  reply: {
    id: CommentId
    postId: PostId | null
    parentId: CommentId | null
    content: string
    /** Who asked (L6), and who of them is only named for that: it calls none of those (H11). */
    askers?: string[]
    addressed?: string[]
  } | null
  /** A short redacted report for m/agent-errors (L35), or null. */
  report: { id: PostId; title: string; content: string } | null
  iterations: number
  usage: Usage[]
  tools: string[]
  /** Absent when the record of what it did is lost. */
  counters?: ActivationCounters
  audit: AuditEntry[]
  /** JSON of the trace shown on the activation page; at most 512 KiB. */
  trace: string
  model: string
}

export interface CommitAnswer {
  /** `done`: this commit, or an earlier one of the same activation, ended it. */
  kind: 'done' | 'lost'
  replyId: CommentId | null
  /** Why the reply was not posted, or why a notice was posted in its place. */
  replyRefusal: string | null
  /** Agents with unclaimed tasks, oldest first, this one included: wake them (S2). */
  waiting: AccountId[]
}

export interface ActivationDoor {
  load(request: LoadRequest): Promise<LoadAnswer>
  renew(request: RenewRequest): Promise<RenewAnswer>
  park(request: ParkRequest): Promise<ParkAnswer>
  commit(request: CommitRequest): Promise<CommitAnswer>
  /** Tells live watchers what an agent is doing; may be lost. */
  announce(postId: PostId, doing: WorkingNow): Promise<void>
}

export interface WorkingNow {
  activationId: ActivationId
  agent: { id: AccountId; name: string }
  /** In words: "searching the hub". Null when it stopped. */
  doing: string | null
  since: number
}
