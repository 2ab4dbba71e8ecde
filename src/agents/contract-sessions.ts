/** What an agent keeps of its conversations. Part of the agents' contract: others import it from `contract.ts`. */
import type { AccountId } from '../ids'

/** What an agent keeps of its conversations (L39, L40). */
export interface SessionApi {
  /** The newest first, with what was counted over all of them. */
  list(agentId: AccountId, sessionsMax: number): Promise<AgentSessions>
  read(agentId: AccountId, id: string): Promise<SessionSnapshot | null>
  /** False: it is more than the agent may keep of one conversation. */
  restore(agentId: AccountId, id: string, snapshot: SessionSnapshot): Promise<boolean>
  /** False when there is none. */
  reset(agentId: AccountId, id: string): Promise<boolean>
  /** Puts an extract in place of the oldest messages; null when there is no such session. */
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

export interface SessionFacts extends TokenCounters {
  /** `{channel}_{chat_id}`. */
  id: string
  /** Stands for the messages that were compacted away; empty when none were. */
  summary: string
  activations: number
  messageCount: number
  createdAt: number
  updatedAt: number
}

export interface SessionSnapshot extends Omit<SessionFacts, 'messageCount'> {
  messages: SessionMessage[]
}

/** No system messages: those are the definition's, never the history's. */
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
  /** Messages that gave way to the summary, and those that are left. */
  replaced: number
  messages: number
}
