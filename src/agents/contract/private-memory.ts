/** What an agent keeps for one account alone. Part of the agents' contract. */
import type { AccountId } from '../../shared/ids'

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
