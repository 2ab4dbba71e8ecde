/** Files that an agent keeps, as people use them. Types only. */
import type { DataOwner } from '../../hub/contract/hub'
import type { AccountId } from '../../shared/ids'

export interface OwnFile {
  path: string
  bytes: number
  updatedAt: number
  /** When its owner shared it; null while it is private. */
  sharedAt: number | null
}

/** A file of an agent, as a person sees it. */
interface SeenFile extends OwnFile {
  /** Whose runs alone read it; null: everybody's. */
  privateTo: DataOwner | null
  /** A run that had read untrusted text wrote it, or it is not known that none did. */
  isUntrusted: boolean
}

/** `missing`: the account has no such file. `taken`: another file with that path is in the way. */
export type FileOutcome = 'done' | 'missing' | 'taken'

/** All methods are idempotent: a move that was interrupted is finished by the next one. */
export interface PrivateFiles {
  /** Returns the files of the account, those that it shared too, by path. */
  list(agentId: AccountId, owner: AccountId): Promise<OwnFile[]>
  /** Returns the files that everybody's runs read, and those private to `owners`, by path. */
  listSeen(agentId: AccountId, self: AccountId, owners: DataOwner[]): Promise<SeenFile[]>
  /** Deletes a file that everybody's runs read. */
  deleteShared(agentId: AccountId, path: string): Promise<FileOutcome>
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
