/** Types of an agent's stored sessions. Part of the agents' contract: others import them from `contract.ts`. */
import type { ChangedRequest } from '../../hub/contract/activations'
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
export type SummaryPlan =
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
