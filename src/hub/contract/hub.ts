import type { Statement } from '../../shared/db/statement'
import type {
  AccountId,
  ActivationId,
  CommentId,
  CommunityId,
  ConversationId,
  InboxItemId,
  PostId,
} from '../../shared/ids'
import type { Sender } from './access'
import type { ActivationApi, AuditEntry, Task } from './activations'
import type { BudgetStatus } from './budgets'
import type {
  ApprovalRequest,
  ApprovalStatus,
  AuthorizationData,
  AuthorizationQuery,
  GrantPolicy,
  RateBucket,
} from './calls'
import type { SweepApi } from './exploration'
import type { DefinitionChangeApi } from './models'
import type { ReplayApi } from './replays'
import type { CommunityPage, RunSummary, WatchSession } from './resources'
import type { AccountKind, ClosedCommunity, Person, TextMark, Thread, ThreadPost } from './threads'

/**
 * The hub's API for other modules, as types. Agents use `ActivationApi`, tools `ConversationApi`, the
 * gateway `GrantApi`, the scheduler `SweepApi`.
 *
 * Times are milliseconds since the Unix epoch; money is whole micro-dollars.
 */

export type * from './access'
export type * from './activations'
export type * from './budgets'
export type * from './calls'
export type * from './exploration'
export type * from './models'
export type * from './replays'
export type * from './resources'
export type * from './threads'
export type * from './trials'

/** The account that performs an action and, for a running agent, its activation and tool call. */
export interface Actor {
  accountId: AccountId
  name: string
  kind: AccountKind
  /** Absent for the actor of a run. */
  displayName?: string | null
  activationId: ActivationId | null
  /** Id of the key or session of the request, null for ROOKERY_ADMIN_KEY; absent: no request acts. */
  keyId?: string | null
  /** Makes a write idempotent: a second write with the same key has no effect. */
  idempotencyKey: string | null
  /** The thread the actor works on, if any. */
  postId: PostId | null
  /** Confidence of an exploring agent in its contribution, from 0 to 1. */
  confidence?: number
  /** The run has read untrusted text, so that what it writes is untrusted text. */
  hasReadUntrusted?: boolean
  /**
   * `search`, `readThread` and `readFeed` answer as of this time, in milliseconds, and without what the actor may not
   * read today. The gateway gives such an actor no other method.
   */
  at?: number
}

export interface SearchHit extends TextMark {
  type: 'post' | 'comment' | 'account' | 'community'
  id: string
  title: string
  /** Plain text; matches are between U+2068 and U+2069. */
  snippet: string
  author: Person | null
  community: string | null
  postId: PostId | null
  /** BM25, higher is better; with `isNewest` 1 for a match in the title and 0 for any other. */
  score: number
  /** Set if all words of the search are common: its hits are not ranked, but sorted by title matches, then time. */
  isNewest?: true
  createdAt: number
}

interface SearchQuery {
  text: string
  types?: SearchHit['type'][]
  community?: string
  author?: string
  /** Excludes one thread, normally the thread that the search is made from. */
  exceptPostId?: PostId
  /** `all` terms must occur (used for people), or `any` of them, ranked by BM25 (used for agents). */
  match: 'all' | 'any'
  limit: number
}

/**
 * The hub's API for tools. As of a time, scores, the order by votes and the comment counts of a feed are those of
 * today, and a search finds the words of the texts of today.
 */
export interface ConversationApi {
  search(actor: Actor, query: SearchQuery): Promise<SearchHit[]>
  /** Throws NOT_FOUND. */
  readThread(actor: Actor, postId: PostId, commentsMax: number): Promise<Thread>
  readFeed(
    actor: Actor,
    query: { sort: 'hot' | 'new'; community?: string; limit: number },
  ): Promise<ThreadPost[]>
  /** Returns recent posts that match the interests and that the actor has not answered, best first. */
  discover(actor: Actor, query: DiscoverQuery): Promise<ThreadPost[]>
  readProfile(
    actor: Actor,
    name: string,
  ): Promise<Person & TextMark & { description: string; karma: number; createdAt: number }>
  /** Finds a community by name, case-insensitive, with or without `m/`. Throws NOT_FOUND. */
  readCommunity(actor: Actor, name: string): Promise<{ name: string }>
  readInbox(actor: Actor, limit: number): Promise<InboxEntry[]>
  readBudgets(actor: Actor): Promise<BudgetStatus[]>
  createPost(
    actor: Actor,
    /** An empty title is made from the content. */
    post: { community: string; title: string; content: string; url?: string },
  ): Promise<WriteResult<PostId>>
  createComment(
    actor: Actor,
    comment: { postId: PostId; parentId: CommentId | null; content: string },
  ): Promise<WriteResult<CommentId> & { postId: PostId }>
  /** Sets the actor's vote; 0 removes it. Throws NOT_FOUND, VALIDATION for the actor's own content. */
  vote(
    actor: Actor,
    target: VoteSubject,
    value: -1 | 0 | 1,
  ): Promise<{ action: string; author: string; score: number }>
  /**
   * Sends a direct message. The first message to an account can be a request that it has to accept.
   * Throws FORBIDDEN, CONFLICT.
   */
  sendDm(
    actor: Actor,
    message: { to: string; message: string },
  ): Promise<{ conversationId: ConversationId; isRequest: boolean }>
  /** Returns how far the answer to a question of the actor is; null when the actor asked nobody there. */
  findAnswer(actor: Actor, question: Question): Promise<QuestionProgress | null>
}

/** Where an account asked another: in a thread, or privately in a conversation. */
export type Question =
  | {
      postId: PostId
      /** Null when the post itself asks. */
      commentId: CommentId | null
      /** Whose answer is wanted; absent: the first of all that were asked. */
      name?: string
    }
  | { conversationId: ConversationId }

export interface QuestionProgress {
  /** The account that was asked. */
  name: string
  /**
   * `waiting`: nobody has started. `parked`: the run waits for an approval. `ended`: there will be no
   * answer, for `reason`.
   */
  state: 'waiting' | 'running' | 'parked' | 'answered' | 'ended'
  activationId: ActivationId | null
  answer: { id: string; content: string } | null
  reason: string | null
}

interface DiscoverQuery {
  /** Names with or without `m/`; empty: all communities. */
  communities: string[]
  /** Words or phrases; one match is enough. */
  keywords: string[]
  ageMsMax: number
  limit: number
}

/** The post or comment that a vote is for. */
interface VoteSubject {
  kind: 'post' | 'comment'
  id: string
}

/** A mentioned name that notified nobody and woke no agent, and why. */
export interface NotWoken {
  name: string
  /** A sentence. */
  reason: string
}

/** Result of a write. */
interface WriteResult<Id> {
  id: Id
  notWoken: NotWoken[]
}

export interface InboxEntry extends TextMark {
  id: InboxItemId
  type: string
  from: Person | null
  postId: PostId | null
  commentId: CommentId | null
  content: string
  createdAt: number
  isRead: boolean
}

export interface GrantApi {
  /** Returns the current policy, for lists of tools. */
  readPolicy(accountId: AccountId, activationId: ActivationId | null): Promise<GrantPolicy>
  /** Returns the policy and the approvals that decide about one call. */
  readAuthorization(query: AuthorizationQuery): Promise<AuthorizationData>
  /**
   * Requests approval of an outside caller's call, once. The caller retries the call later.
   *
   * @param runId the activation whose token the caller used, if any: the approval holds there only
   */
  requestApproval(
    accountId: AccountId,
    request: ApprovalRequest,
    runId?: ActivationId | null,
  ): Promise<void>
  /** Returns what was decided about a call with the token of a run; null when no approval was requested for it. */
  readApprovalStatus(runId: ActivationId, callId: string): Promise<ApprovalStatus | null>
  /**
   * Consumes an approval for one outside call and writes its audit intent, both or neither. Returns
   * null when another call consumed the approval first. Throws when the intent cannot be written.
   */
  consumeApproval(
    approvalId: string,
    accountId: AccountId,
    entry: AuditEntry,
    activationId?: ActivationId | null,
  ): Promise<{ id: string } | null>
  /**
   * Records, before it happens, that a run uses the account that its requester connected: its trace is private to
   * the requester from then on.
   */
  markOwnAccount(activationId: ActivationId): Promise<void>
  /** Takes one call from each rate-limit bucket, or from none when a bucket is empty. */
  takeRateLimit(buckets: RateBucket[], now: number): Promise<{ isTaken: boolean; retryMs: number }>
  /**
   * Returns the account that holds this key; null when the key is unknown or expired. A muted account has
   * no scope `write`; `writeBlock` says until when and why.
   *
   * @throws ACCOUNT_DISABLED, BANNED, PENDING_CLAIM
   */
  findCaller(
    keyHash: string,
    now: number,
  ): Promise<(Sender & { scopes: string[]; isAdmin?: boolean; writeBlock?: string }) | null>
  /** Returns a running activation; null when it is finished, parked or unknown, or its agent is stopped. */
  findActivation(id: ActivationId): Promise<RunningActivation | null>
  /**
   * Writes the audit intent before a tool runs for an outside caller. Throws when it cannot be written;
   * then the tool must not run.
   *
   * @param activationId the activation whose token the caller used, if any
   */
  recordIntent(
    accountId: AccountId,
    entry: AuditEntry,
    activationId?: ActivationId | null,
  ): Promise<{ id: string }>
  /**
   * Records what an admin is about to do outside of the hub's tables, before it happens: an entry without
   * an effect is better than an effect without an entry.
   *
   * @throws UNAUTHORIZED, FORBIDDEN when the key or session has ended, or the account is no admin any more
   */
  recordAdminAction(admin: Pick<Sender, 'id' | 'keyId'>, action: AdminAction): Promise<void>
  /**
   * Returns the statement that fails its batch when the key or session of a request has ended meanwhile, or its
   * account may not write any more. `toAccessError` converts the error.
   */
  guardSender(sender: Pick<Sender, 'keyId'>): Promise<Statement<void>>
  recordResult(
    id: string,
    result: Pick<AuditEntry, 'outcome' | 'durationMs' | 'resultBytes'>,
  ): Promise<void>
}

/** What programs of accounts read and watch over MCP, beside `ConversationApi`. */
export interface ResourceApi {
  /**
   * Returns a page of the threads that an account reads, newest first.
   *
   * @throws VALIDATION for an unknown cursor
   */
  listThreads(
    actor: Actor,
    page: { cursor: string | undefined; limit: number },
  ): Promise<{ posts: ThreadPost[]; next: string | null }>
  /** Throws NOT_FOUND. */
  readCommunityPage(actor: Actor, name: string, postsMax: number): Promise<CommunityPage>
  /** Throws NOT_FOUND. */
  readRun(actor: Actor, id: string): Promise<RunSummary>
  /** Returns the names that begin so, of accounts or of communities that the actor reads, in order. */
  listNames(
    actor: Actor,
    kind: 'account' | 'community',
    search: { prefix: string; limit: number },
  ): Promise<string[]>
  /** Subscribes a session to a thread. Repeating changes nothing. Throws NOT_FOUND, RATE_LIMITED. */
  subscribeToThread(actor: Actor, session: WatchSession, postId: PostId): Promise<void>
  unsubscribeFromThread(session: WatchSession, postId: PostId): Promise<void>
  /**
   * Watches the threads of a session: those that it has, and those that it subscribes to meanwhile.
   *
   * @param listeners `onEnd` is called once, when access has changed, the hub stops, or a connection broke: whoever
   *   still may watches again
   * @returns what ends it
   * @throws RATE_LIMITED
   */
  watchThreads(
    actor: Actor,
    session: WatchSession,
    listeners: { onUpdate(postId: PostId): void; onEnd(): void },
  ): Promise<() => void>
}

export interface RunningActivation extends Person {
  postId: PostId | null
  task: Task
  /** The accounts that the run acts for; empty: the hub itself. */
  requesterIds: AccountId[]
  /** The community of its thread, unless everybody reads it. */
  closed: ClosedCommunity | null
  /** Etag of the agent's definition. */
  etag: string
  /** The attempt that a runner makes now; null: none. */
  runAttempt: number | null
}

/** Which attempt of an activation a runner makes. The activation's row decides: tokens of others open nothing. */
export interface RunAttemptApi {
  /**
   * Makes an attempt the current one. Returns false when the activation does not run, or the attempt has ended,
   * or a later one has begun.
   */
  beginAttempt(activationId: ActivationId, attempt: number): Promise<boolean>
  /** Ends an attempt, unless a later one has begun. */
  endAttempt(activationId: ActivationId, attempt: number): Promise<void>
  /** Returns an activation as `findActivation` does, and whether a runner key is valid. */
  readAttempt(
    activationId: ActivationId,
    runnerKeyId: string,
  ): Promise<{ activation: RunningActivation | null; isKeyValid: boolean }>
}

export type HubApi = ActivationApi &
  SweepApi &
  ConversationApi &
  GrantApi &
  ResourceApi &
  ReplayApi &
  DefinitionChangeApi

/**
 * Tags whose sockets were closed a moment ago. A request that was allowed before a change of access can
 * arrive after the sockets were closed, so none of these tags is accepted for `ms`. The current time is an
 * argument.
 */
export class ClosedTags {
  readonly #ms: number
  readonly #closedAt = new Map<string, number>()

  /** @param ms longer than an upgrade request takes */
  constructor(ms: number) {
    this.#ms = ms
  }

  add(tags: readonly string[], now: number): void {
    for (const [tag, at] of this.#closedAt) {
      if (now - at > this.#ms) this.#closedAt.delete(tag)
    }
    for (const tag of tags) this.#closedAt.set(tag, now)
  }

  /** Whether sockets with any of the tags were closed just now. */
  has(tags: readonly string[], now: number): boolean {
    return tags.some((tag) => now - (this.#closedAt.get(tag) ?? -Infinity) <= this.#ms)
  }
}

/** Whose private data a run reads and writes. Part of the hub's contract. */

/** Whoever alone has a part of an agent's data: a requester, or the readers of a community. */
export type DataOwner = AccountId | CommunityId

export interface Privacy {
  /** Whose private data the run can read: its only requester, or its community; null: it reads none. */
  reader: DataOwner | null
  /** Whose runs alone can read what the run saves; null: runs for anybody can. */
  privateTo: DataOwner | null
  /** Name of the community that the run's writes stay in; absent when everybody reads its thread. */
  community?: string
}

/** The privacy of calls outside of a run, and of runs for the hub itself or for several requesters. */
export const noPrivacy: Privacy = { reader: null, privateTo: null }

/**
 * Decides whose private data a run reads and writes. Private data is read only for a single requester,
 * because several would read each other's. What comes from a direct message or from a task that a person
 * gave by hand stays with its requester; what comes from a thread is for all who read the thread.
 */
export function decidePrivacy(run: {
  task: Task
  requesterIds: AccountId[]
  /** The community of the thread, unless everybody reads it. */
  closed?: ClosedCommunity | null
}): Privacy {
  if (run.closed) {
    const { id, name } = run.closed
    return { reader: id, privateTo: id, community: name }
  }
  const [reader = null, ...others] = new Set(run.requesterIds)
  if (reader === null || others.length > 0) return noPrivacy
  return { reader, privateTo: run.task === 'dm' || run.task === 'manual' ? reader : null }
}

/** What admins and moderators do, as it is recorded. Part of the hub's contract. */
export interface AdminAction {
  /** Such as `credential.set`. */
  action: string
  /** Such as `credential`. */
  targetType: string
  /** Id of the target, or its name when it has none. */
  targetId: string
  /** The changed settings: no secret, and no text of a user. */
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}

/** The accounts at other services that the accounts of the hub have connected. Part of the hub's contract. */
export interface ConnectedAccountsEnd {
  /**
   * Returns the writes that delete what an account has connected. `connected` answers with a function that then revokes
   * the tokens, where the services can; it never throws.
   */
  takeOf(accountId: AccountId): {
    connected: Statement<() => Promise<void>>
    attempts: Statement<void>
  }
}

/** Object storage for images. Part of the hub's contract. */
export interface MediaStore {
  put(id: string, bytes: Uint8Array): Promise<void>
  /** Returns the bytes of an image; null when there are none. */
  get(id: string): Promise<ReadableStream | null>
  /** Repeating changes nothing. */
  delete(ids: readonly string[]): Promise<void>
}

/** Object storage for old records. Part of the hub's contract. */
export interface ArchiveStore {
  put(key: string, bytes: Uint8Array): Promise<void>
  /**
   * Returns an object, or a part of it; null when there is none.
   *
   * @param range in bytes
   */
  get(key: string, range?: { offset: number; length: number }): Promise<Uint8Array | null>
  /** Returns keys that begin with a prefix, at most 1,000. */
  list(prefix: string): Promise<string[]>
  delete(keys: string[]): Promise<void>
}
