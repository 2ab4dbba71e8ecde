import type { AccountId } from '../../shared/ids'
import type { PrivateChange, PrivateFact, PrivateOutcome } from '../contract/agents'
import type { MemoryStore } from './memory-store'

const columns = 'f.id, f.text, f.source, f.created_at AS createdAt'

/** Facts that an agent keeps for one account alone, as the account lists, shares and deletes them. */
export class PrivateFacts {
  readonly #memory: MemoryStore

  constructor(memory: MemoryStore) {
    this.#memory = memory
  }

  /** Returns facts of the account, those that it shared too, newest first. */
  list(owner: AccountId, before: number | null, limit: number): PrivateFact[] {
    const last = before ?? Number.MAX_SAFE_INTEGER
    const own = this.#memory.query<PrivateFact & Record<string, SqlStorageValue>>(
      `SELECT ${columns}, NULL AS sharedAt FROM facts f WHERE f.private_to = ? AND f.id < ?
       ORDER BY f.id DESC LIMIT ?`,
      owner,
      last,
      limit,
    )
    const shared = this.#memory.query<PrivateFact & Record<string, SqlStorageValue>>(
      `SELECT ${columns}, s.shared_at AS sharedAt FROM shares s JOIN facts f ON f.id = s.fact_id
       WHERE s.owner = ? AND f.id < ? AND f.private_to = '' ORDER BY f.id DESC LIMIT ?`,
      owner,
      last,
      limit,
    )
    return [...own, ...shared].sort((a, b) => b.id - a.id).slice(0, limit)
  }

  change(owner: AccountId, id: number, change: PrivateChange, now: number): PrivateOutcome {
    const isShared = this.#isShared(owner, id)
    if (!isShared && !this.#isPrivate(owner, id)) return 'missing'
    if (change === 'delete') this.#delete(id)
    else if (change === 'share' && !isShared) return this.#share(owner, id, now)
    else if (change === 'unshare' && isShared) this.#unshare(owner, id)
    return 'done'
  }

  #isPrivate(owner: AccountId, id: number): boolean {
    const sql = 'SELECT id FROM facts WHERE id = ? AND private_to = ?'
    return this.#memory.query(sql, id, owner).length > 0
  }

  #isShared(owner: AccountId, id: number): boolean {
    const sql = `SELECT f.id FROM shares s JOIN facts f ON f.id = s.fact_id
      WHERE s.fact_id = ? AND s.owner = ? AND f.private_to = ''`
    return this.#memory.query(sql, id, owner).length > 0
  }

  /** Shares a fact, unless everybody's runs know the same text already. */
  #share(owner: AccountId, id: number, now: number): PrivateOutcome {
    const shared = this.#memory.query(
      "UPDATE OR IGNORE facts SET private_to = '' WHERE id = ? AND private_to = ? RETURNING id",
      id,
      owner,
    )
    if (shared.length === 0) return 'taken'
    this.#memory.write(
      'INSERT OR REPLACE INTO shares (fact_id, owner, shared_at) VALUES (?, ?, ?)',
      id,
      owner,
      now,
    )
    return 'done'
  }

  /** Makes a fact private again. One that the account had noted again meanwhile takes its place. */
  #unshare(owner: AccountId, id: number): void {
    const kept = this.#memory.query(
      'UPDATE OR IGNORE facts SET private_to = ? WHERE id = ? RETURNING id',
      owner,
      id,
    )
    if (kept.length === 0) this.#delete(id)
    else this.#memory.write('DELETE FROM shares WHERE fact_id = ?', id)
  }

  #delete(id: number): void {
    this.#memory.query('DELETE FROM facts WHERE id = ?', id)
    this.#memory.query('DELETE FROM shares WHERE fact_id = ?', id)
  }
}
