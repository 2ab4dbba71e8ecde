/** What an agent knows, as people read and correct it. Part of the agents' contract. */
import type { DataOwner } from '../../hub/contract/privacy'
import type { AccountId } from '../../shared/ids'
import type { PrivateOutcome, PrivatePage } from './private-memory'
import type { SessionFacts } from './sessions'

/** What a viewer sees of it. What the viewer does not see is not counted either. */
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
