/** Types of an agent's stored sessions. Part of the agents' contract: others import them from `contract.ts`. */
import type { AccountId } from '../../shared/ids'

/** Reads and edits an agent's stored sessions. */
export interface SessionApi {
  /** Returns sessions, newest first, and the totals of all activations. */
  list(agentId: AccountId, sessionsMax: number): Promise<AgentSessions>
  read(agentId: AccountId, id: string): Promise<SessionSnapshot | null>
  /** Replaces the session by a snapshot. Returns false when the snapshot is too large. */
  restore(agentId: AccountId, id: string, snapshot: SessionSnapshot): Promise<boolean>
  /** Deletes the session. Returns false when it doesn't exist. */
  reset(agentId: AccountId, id: string): Promise<boolean>
  /** Replaces the oldest messages by an extract. Returns null when the session doesn't exist. */
  compact(agentId: AccountId, id: string): Promise<CompactedSession | null>
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

export interface CompactedSession {
  /** Number of messages that the summary replaced. */
  replaced: number
  /** Number of remaining messages. */
  messages: number
}
