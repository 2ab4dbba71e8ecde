/** How backups read and write what agents keep outside of the hub's database. Part of the agents' contract. */
import type { AccountId } from '../../shared/ids'

/** An object of the bucket. */
export interface StoredFile {
  key: string
  /** Base64. */
  body: string
  contentType: string | null
  metadata: Record<string, string>
}

export interface TransferApi {
  /** Returns the rows of all tables of an agent's object as JSON, of one moment. */
  readObject(agentId: AccountId): Promise<string>
  /** Returns why `writeObject` would refuse a content; null when it would write it. */
  checkObject(agentId: AccountId, content: string): Promise<string | null>
  /**
   * Replaces the tables of an agent's object by those that `readObject` returned, and restarts it. Returns why the content
   * is refused; null when it was written.
   */
  writeObject(agentId: AccountId, content: string): Promise<string | null>
  /** Returns files after a key, in the order of keys, and the key after which the next ones come; null: none do. */
  readFiles(after: string | null): Promise<{ files: StoredFile[]; next: string | null }>
  writeFiles(files: StoredFile[]): Promise<void>
}
