/** Files that an agent keeps for one account alone, as the account uses them. Types only. */
import type { AccountId } from '../../shared/ids'

export interface OwnFile {
  path: string
  bytes: number
  updatedAt: number
  /** When its owner shared it; null while it is private. */
  sharedAt: number | null
}

/** `missing`: the account has no such file. `taken`: another file with that path is in the way. */
export type FileOutcome = 'done' | 'missing' | 'taken'

/** All methods are idempotent: a move that was interrupted is finished by the next one. */
export interface PrivateFiles {
  /** Returns the files of the account, those that it shared too, by path. */
  list(agentId: AccountId, owner: AccountId): Promise<OwnFile[]>
  /** Moves a file to where all runs of the agent read it, under the same path. */
  share(agentId: AccountId, owner: AccountId, path: string, now: number): Promise<FileOutcome>
  /** Moves a file back, unless a run has changed it meanwhile: then it is not the account's alone. */
  unshare(agentId: AccountId, owner: AccountId, path: string): Promise<FileOutcome>
  delete(agentId: AccountId, owner: AccountId, path: string): Promise<FileOutcome>
  /**
   * Deletes the files and long results that any agent keeps for the account alone, files that it shared,
   * and all of its own.
   */
  deleteAll(owner: AccountId): Promise<void>
}
