import type { ChangedRequest } from '../../hub/contract/activations'
import type { DataOwner } from '../../hub/contract/hub'
import type { ModelConnection } from '../../hub/contract/models'
import type { AccountId } from '../../shared/ids'
import type { CallUsage } from './models'

/** Reads and edits an agent's stored sessions. */
export interface SessionApi {
  /** Returns sessions, newest first, and the totals of all activations. */
  list(agentId: AccountId, sessionsMax: number): Promise<AgentSessions>
  read(agentId: AccountId, id: string): Promise<SessionSnapshot | null>
  /** Replaces the session by a snapshot. Returns false when the snapshot is too large. */
  restore(agentId: AccountId, id: string, snapshot: SessionSnapshot): Promise<boolean>
  /** Deletes the session. Returns false when it doesn't exist. */
  reset(agentId: AccountId, id: string): Promise<boolean>
  /** Deletes what sessions hold of runs whose request or answer changed since. Returns false while the agent runs. */
  forget(agentId: AccountId, changed: ChangedRequest[]): Promise<boolean>
  /** Returns what a summary by the agent's model takes; null when the session doesn't exist. */
  planSummary(
    agent: SessionAgent,
    id: string,
    connections: readonly ModelConnection[],
  ): Promise<SummaryPlan | null>
  /** Asks the agent's model for the summaries of a plan. Never throws for a failure of the provider. */
  summarize(
    agent: SessionAgent,
    draft: CompactionDraft,
    connections: readonly ModelConnection[],
  ): Promise<SummaryResult>
  /**
   * Replaces the oldest messages by a summary, or by an extract of what has none. Returns null when the session
   * doesn't exist.
   */
  compact(
    agentId: AccountId,
    id: string,
    summaries: SessionSummaries | null,
  ): Promise<CompactedSession | null>
}

export interface TokenCounters {
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  costMicrousd: number
}

export interface ToolCount {
  name: string
  calls: number
  errors: number
  totalMs: number
}

/** The last model call of a session: how full its context window was. */
export interface LastCall {
  promptTokens: number
  completionTokens: number
  /** Tokens that the context window of the model holds. */
  contextLimit: number
}

export interface SessionFacts extends TokenCounters {
  /** `{channel}_{chat_id}`. */
  id: string
  /** Summary of the compacted messages; empty when none were compacted. */
  summary: string
  activations: number
  /** Null until a model has answered. */
  lastCall: LastCall | null
  messageCount: number
  createdAt: number
  updatedAt: number
  /** Accounts and communities that parts of it are private to. */
  privateTo: string[]
  /** Whether parts of it are for everybody's runs. */
  hasShared: boolean
}

export interface SessionSnapshot extends Omit<SessionFacts, 'messageCount'> {
  messages: SessionMessage[]
}

/** A message of the history, which has no system messages: those come from the definition. */
export type SessionMessage =
  | { role: 'user'; text: string }
  | {
      role: 'assistant'
      text: string
      calls: { callId: string; name: string; arguments: string }[]
    }
  | {
      role: 'tool'
      results: { callId: string; name: string; text: string; isError: boolean }[]
    }

export interface AgentSessions {
  sessions: SessionFacts[]
  totals: TokenCounters & { activations: number }
  tools: ToolCount[]
}

/** An agent with its active definition. */
export interface SessionAgent {
  id: AccountId
  name: string
  etag: string
}

/** What a compaction replaces, for the model that summarizes it. */
export interface CompactionDraft {
  /** Changes with the turns of the session. */
  revision: number
  /** For each account with private turns those that its runs see; an empty owner stands for all runs. */
  parts: { owner: string; record: string; summaryCharsMax: number }[]
}

/** `extract`: without a model, for the reason. */
type SummaryPlan =
  | { kind: 'extract'; reason: string | null }
  | { kind: 'model'; model: string; microusd: number; tokens: number; draft: CompactionDraft }

/** Summaries by the model, for the turns of one revision. */
export interface SessionSummaries {
  revision: number
  texts: { owner: string; text: string }[]
}

export interface SummaryResult extends SessionSummaries {
  usages: CallUsage[]
  /** Why parts have no summary, for people; null when all have. */
  failure: string | null
}

export interface CompactedSession {
  /** Number of messages that the summary replaced. */
  replaced: number
  /** Number of remaining messages. */
  messages: number
}

/** What a viewer sees of an agent's knowledge. What the viewer does not see is not counted either. */
export interface KnowledgeView {
  self: AccountId
  /** Whose private facts, tasks and files they see: their own, and of communities that they read. */
  owners: DataOwner[]
  /** Whose private sessions they see besides, as an admin who has opened them. */
  opened: DataOwner[]
  /** Sees what runs for everybody read. A guest does not, whose runs read it only with the grant to read memory. */
  seesShared: boolean
  /** Manages the agent: changes what everybody's runs read, and sees the sessions of threads. */
  isManager: boolean
}

interface Known {
  id: number
  text: string
  createdAt: number
  /** Whose runs alone read it; null: everybody's. */
  privateTo: DataOwner | null
  /** Noted by a run that had read text by a guest or from outside. */
  isUntrusted: boolean
}

export interface KnownFact extends Known {
  /** Where the agent has it from, as it noted; empty when it did not. */
  source: string
  /** When the viewer shared it, to whom it was private; null otherwise. */
  sharedAt: number | null
}

export type KnownTask = Known

export interface KnownFile {
  path: string
  bytes: number
  updatedAt: number
  privateTo: DataOwner | null
  sharedAt: number | null
  isUntrusted: boolean
}

export interface AgentKnowledge {
  /** Newest first. */
  facts: KnownFact[]
  hasMoreFacts: boolean
  /** Open ones, oldest first. */
  tasks: KnownTask[]
  /** Newest first. */
  sessions: SessionFacts[]
  /** By path. */
  files: KnownFile[]
  hasMoreFiles: boolean
}

/** A change of what an agent knows. */
export type KnowledgeChange =
  | { kind: 'correct_fact'; id: number; text: string; source: string; isUntrusted: boolean }
  | { kind: 'delete_fact'; id: number }
  | { kind: 'close_task'; id: number; note: string }
  | { kind: 'delete_file'; path: string; isShared: boolean }

/**
 * What people read and change of what an agent knows. No tool leads here. Changes are idempotent, but for a
 * repeated deletion, which is `missing`.
 */
export interface KnowledgeApi {
  list(agentId: AccountId, view: KnowledgeView, page: PrivatePage): Promise<AgentKnowledge>
  change(agentId: AccountId, view: KnowledgeView, change: KnowledgeChange): Promise<PrivateOutcome>
}

/**
 * Whether a viewer sees a session: a manager those whose private parts they may read, others those that are
 * private to them from the first message to the last.
 */
export function canReadSession(
  { self, owners, opened, isManager }: KnowledgeView,
  { privateTo, hasShared }: Pick<SessionFacts, 'privateTo' | 'hasShared'>,
): boolean {
  if (!isManager) return !hasShared && privateTo.length === 1 && privateTo[0] === self
  return privateTo.every((owner) => [...owners, ...opened].some((each) => each === owner))
}

/** A fact that an agent keeps for one account alone. */
export interface PrivateFact {
  id: number
  text: string
  /** Where the agent has it from, as it noted; empty when it did not. */
  source: string
  createdAt: number
  /** When its owner shared it; null while it is private. */
  sharedAt: number | null
}

/** Facts and files that an agent keeps for one account, or that the account has shared. */
export interface PrivateMemory {
  /** Newest first. */
  facts: PrivateFact[]
  hasMoreFacts: boolean
  /** By path. */
  files: PrivateFile[]
  hasMoreFiles: boolean
}

export interface PrivateFile {
  path: string
  bytes: number
  updatedAt: number
  sharedAt: number | null
}

export interface PrivatePage {
  /** Facts before this id; null: from the newest. */
  before: number | null
  /** Files after this path; null: from the first. */
  after: string | null
  limit: number
}

export type PrivateItem = { kind: 'fact'; id: number } | { kind: 'file'; path: string }

/** `unshare` makes an item private again. What was quoted meanwhile stays where it was quoted. */
export type PrivateChange = 'share' | 'unshare' | 'delete'

/**
 * `missing`: the account has no such item. `taken`: another item of that text or path is in the way.
 */
export type PrivateOutcome = 'done' | 'missing' | 'taken'

/**
 * What people do with what an agent keeps for them. No tool leads here, so that no agent and no prompt
 * shares anything. Changes are idempotent.
 */
export interface PrivateMemoryApi {
  list(agentId: AccountId, owner: AccountId, page: PrivatePage): Promise<PrivateMemory>
  change(
    agentId: AccountId,
    owner: AccountId,
    item: PrivateItem,
    change: PrivateChange,
  ): Promise<PrivateOutcome>
}
