import type { DataOwner } from '../../hub/contract/privacy'
import type { OpenTask, RememberedFact } from '../../mcp-servers/contract/tools'
import type { ActivationId } from '../../shared/ids'
import type {
  AgentSessions,
  LastCall,
  SessionMessage,
  TokenCounters,
  ToolCount,
} from '../contract/agents'

/** One finished activation, as its session stores it. */
export interface StoredActivation {
  activationId: ActivationId
  sessionId: string
  at: number
  /** One line of task and answer, for the agent's other sessions; empty hides it from them. */
  gist: string
  /** From the task to the answer; every call has its result. */
  messages: SessionMessage[]
  usage: TokenCounters
  /** Its last model call, and what the context window of that model holds; null: none was answered. */
  lastCall: LastCall | null
  tools: ToolCount[]
  /** Summary of all messages before `messages`; null when nothing was compacted. */
  summary: string | null
  /** The account whose runs alone see the turn; null: all runs do. */
  privateTo: DataOwner | null
  /** Its run had read text by a guest or from outside. */
  isUntrusted: boolean
}

/** Counts of an agent's activations, tokens and tool calls. */
export type Statistics = Pick<AgentSessions, 'totals' | 'tools'>

/** The part of an agent's memory that goes into a prompt. */
export interface PromptMemory {
  /** Summary of the session's compacted activations; empty when there are none. */
  summary: string
  /** Messages of the session's newest activations, oldest first. */
  history: SessionMessage[][]
  facts: RememberedFact[]
  tasks: OpenTask[]
  /** Recent activations of other sessions, oldest first. */
  recentElsewhere: { at: number; gist: string }[]
  /** Whether a part of it is private to the reader. */
  hasPrivate: boolean
  /** Whether a turn of the session, a fact or an open task is of a run that had read untrusted text. */
  hasUntrusted: boolean
}

export interface MemoryQuery {
  sessionId: string
  /** The account whose private memory is included; null: nobody's. */
  reader: DataOwner | null
  /** Text of the task, for `keyword`. */
  words: string
  factsMax: number
  retrieval: 'recent' | 'keyword'
}

/** What the turns of an agent contribute to a prompt. */
export type TurnMemory = Omit<PromptMemory, 'facts' | 'tasks'>

export const noTurns: TurnMemory = {
  summary: '',
  history: [],
  recentElsewhere: [],
  hasPrivate: false,
  hasUntrusted: false,
}

export type TurnsRow = Record<'summary' | 'ownSummary' | 'history' | 'recentElsewhere', string> & {
  hasPrivate: number
  hasUntrusted: number
}
