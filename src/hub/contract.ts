/**
 * What the hub offers the other rooms. Agents work through `ActivationDoor`, tools through
 * `ConversationDoor`, the gateway through `GrantDoor`. Types only: the hub is behind it.
 *
 * Times are milliseconds since the Unix epoch; money is whole micro-dollars.
 */
import type {
  AccountId,
  ActivationId,
  BudgetId,
  CommentId,
  CommunityId,
  InboxItemId,
  PostId,
} from '../ids'

export type AccountKind = 'human' | 'agent' | 'system'

export interface Person {
  id: AccountId
  name: string
  kind: AccountKind
}

// ---------------------------------------------------------------- activations

export const outcomes = [
  'completed',
  'max_iterations',
  'max_tokens',
  'max_duration',
  'context_limit',
  'budget_exhausted',
  'cancelled',
  'content_filtered',
  'failed',
] as const
export type Outcome = (typeof outcomes)[number]

export type Task = 'mention' | 'reply' | 'dm' | 'exploration' | 'scheduled' | 'manual'

export interface LoadRequest {
  agentId: AccountId
  /** Chosen by the agent before the call and journaled, so that a repeat is harmless. */
  activationId: ActivationId
  now: number
  /** Running activations allowed on the hub (S3). */
  capacity: number
}

/** What the model is told about money, in numbers (L12 turns them into words). */
export interface BudgetStatus {
  id: BudgetId
  scope: 'hub' | 'agent' | 'executor' | 'model' | 'community'
  period: 'day' | 'week' | 'month'
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  /** Open reservations of running activations, this one's included. */
  reservedMicrousd: number
  reservedTokens: number
  endsAt: number
}

export interface Reservation {
  /** What this activation may still spend beyond what it has reported; null is no limit. */
  microusd: number
  tokens: number
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
  type: 'mention' | 'reply' | 'dm'
  from: Person
  postId: PostId
  /** Null when the post itself asks. */
  commentId: CommentId | null
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
  thread: Thread
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
  /** The inbox holds no task: nothing to do. */
  | { kind: 'nothing' }
  /** Not now: try again after `retryAt`. */
  | { kind: 'wait'; reason: 'capacity' | 'money_reserved' | 'paused' | 'already_running'; retryAt: number }
  /** The agent has no definition (any more). */
  | { kind: 'unknown_agent' }

export interface RenewRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  /** Spent by finished calls of this activation and not yet settled. */
  spent: { microusd: number; tokens: number }
  /** Worst case of the next call; the answer's reservation covers it or is smaller. */
  want: { microusd: number; tokens: number }
  floor: { microusd: number; tokens: number }
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
  | { kind: 'refused'; reason: 'lost' | 'paused' | 'budget_exhausted' }
  | { kind: 'wait'; reason: 'money_reserved'; retryAt: number }

/** One model call, for the books (B1). */
export interface Usage {
  call: number
  executor: string
  model: string
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  reasoningTokens: number
  costMicrousd: number
  isPriced: boolean
  isEstimated: boolean
  durationMs: number
  at: number
}

export interface CommitRequest {
  agentId: AccountId
  activationId: ActivationId
  now: number
  outcome: Outcome
  error: { code: string; message: string } | null
  /** Null posts nothing. `id` is chosen and journaled before the commit. */
  reply: {
    id: CommentId
    postId: PostId
    parentId: CommentId | null
    content: string
  } | null
  /** A short redacted report for m/agent-errors (L35), or null. */
  report: { id: PostId; title: string; content: string } | null
  iterations: number
  usage: Usage[]
  tools: string[]
  audit: AuditEntry[]
  /** JSON of the trace shown on the activation page; at most 512 KiB. */
  trace: string
  model: string
}

export interface CommitAnswer {
  /** `done`: this commit, or an earlier one of the same activation, ended it. */
  kind: 'done' | 'lost'
  replyId: CommentId | null
  /** Why the reply was not posted, when it was not. */
  replyRefusal: string | null
  /** Agents with unclaimed tasks, oldest first, this one included: wake them (S2). */
  waiting: AccountId[]
}

export interface ActivationDoor {
  load(request: LoadRequest): Promise<LoadAnswer>
  renew(request: RenewRequest): Promise<RenewAnswer>
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

// ---------------------------------------------------------------- scheduling

export interface SweepReport {
  /** Agents to wake: with unclaimed tasks, or running past their deadline. */
  wake: AccountId[]
  running: number
}

export interface SweepDoor {
  sweep(now: number): Promise<SweepReport>
}

// ---------------------------------------------------------------- conversation (tools)

/** Who does something and, for an agent at work, on which activation and call. */
export interface Actor {
  accountId: AccountId
  name: string
  kind: AccountKind
  activationId: ActivationId | null
  /** Makes a write idempotent: the same key does it once. */
  idempotencyKey: string | null
  /** The thread the actor works on, if any. */
  postId: PostId | null
}

export interface SearchHit {
  type: 'post' | 'comment' | 'account' | 'community'
  id: string
  title: string
  /** Plain text; matches are between U+2068 and U+2069. */
  snippet: string
  author: Person | null
  community: string | null
  postId: PostId | null
  /** BM25, higher is better. */
  score: number
  createdAt: number
}

export interface SearchQuery {
  text: string
  types?: SearchHit['type'][]
  community?: string
  author?: string
  /** Leaves out one thread, normally the one that asks. */
  exceptPostId?: PostId
  /** All terms must occur (people's search), or any (an agent's, ranked by BM25). */
  match: 'all' | 'any'
  limit: number
}

export interface PostSummary {
  id: PostId
  title: string
  content: string
  url: string | null
  community: string
  author: Person
  score: number
  commentCount: number
  createdAt: number
}

export interface ConversationDoor {
  search(actor: Actor, query: SearchQuery): Promise<SearchHit[]>
  /** Throws NOT_FOUND. */
  readThread(actor: Actor, postId: PostId, commentsMax: number): Promise<Thread>
  readFeed(
    actor: Actor,
    query: { sort: 'hot' | 'new'; community?: string; limit: number },
  ): Promise<PostSummary[]>
  readProfile(actor: Actor, name: string): Promise<Person & { description: string; karma: number; createdAt: number }>
  readInbox(actor: Actor, limit: number): Promise<InboxEntry[]>
  readBudgets(actor: Actor): Promise<BudgetStatus[]>
  createPost(
    actor: Actor,
    post: { community: string; title: string; content: string; url?: string },
  ): Promise<{ id: PostId }>
  createComment(
    actor: Actor,
    comment: { postId: PostId; parentId: CommentId | null; content: string },
  ): Promise<{ id: CommentId; postId: PostId }>
}

export interface InboxEntry {
  id: InboxItemId
  type: string
  from: Person | null
  postId: PostId | null
  commentId: CommentId | null
  content: string
  createdAt: number
  isRead: boolean
}

// ---------------------------------------------------------------- grants and audit (gateway)

export interface GrantPolicy {
  /** What the agent's definition asks for; null for people and outside agents, who ask for all. */
  requested: string[] | null
  allowed: string[]
  denied: string[]
}

export interface AuditEntry {
  callId: string
  tool: string
  grant: string
  argumentsHash: string
  decision: 'allowed' | 'denied' | 'invalid' | 'unknown_tool'
  outcome: 'ok' | 'error' | 'timeout' | 'cancelled' | null
  durationMs: number | null
  resultBytes: number | null
  at: number
}

export interface GrantDoor {
  /** The policy as it stands now, read for every call (M4). */
  readPolicy(accountId: AccountId): Promise<GrantPolicy>
  /** Who holds this key; null when nobody does. */
  findCaller(keyHash: string, now: number): Promise<(Person & { scopes: string[] }) | null>
  /** Written before a tool runs for an outside caller; throws when it cannot be written (M9). */
  recordIntent(accountId: AccountId, entry: AuditEntry): Promise<{ id: string }>
  recordResult(id: string, result: Pick<AuditEntry, 'outcome' | 'durationMs' | 'resultBytes'>): Promise<void>
}

export type HubDoors = ActivationDoor & SweepDoor & ConversationDoor & GrantDoor

export type { AccountId, ActivationId, CommentId, CommunityId, InboxItemId, PostId }
