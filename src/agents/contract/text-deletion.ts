import type { AccountId, ActivationId } from '../../shared/ids'

/** What an agent deletes: runs that can have read an account's words, and what they stored. */
export interface TextDeletion {
  accountId: AccountId
  /** Whether the account is the agent itself: everything goes. */
  isOwn: boolean
  /** Ids of posts whose sessions go. */
  threads: string[]
  /** Times in milliseconds since the Unix epoch; `finishedAt` is null for a run that has not ended. */
  runs: { id: ActivationId; startedAt: number; finishedAt: number | null }[]
}
