import { liveLimits } from '../../shared/config'

interface SubscriptionChange {
  /** Of the session. */
  topic: string
  /** Of the session's account. */
  owner: string
  postId: string
  /** False removes the thread. */
  isWanted: boolean
}

/** Stores which threads the sessions of MCP subscribe to. Times are milliseconds since the Unix epoch. */
export class SessionStore {
  readonly #sql: SqlStorage
  #isReady = false

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** Returns false when the session has as many threads as it may. */
  change({ topic, owner, postId, isWanted }: SubscriptionChange, now: number): boolean {
    const before = this.use(topic, now).filter((id) => id !== postId)
    const next = isWanted ? [...before, postId] : before
    if (next.length > liveLimits.threadsPerSessionMax) return false
    if (next.length === 0) {
      this.#sql.exec('DELETE FROM sessions WHERE topic = ?', topic)
      return true
    }
    this.#sql.exec(
      `INSERT INTO sessions (topic, owner, post_ids, used_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (topic) DO UPDATE SET post_ids = excluded.post_ids`,
      topic,
      owner,
      JSON.stringify(next),
      now,
    )
    this.#sql.exec(
      `DELETE FROM sessions WHERE owner = ?1 AND topic NOT IN
        (SELECT topic FROM sessions WHERE owner = ?1 ORDER BY used_at DESC, rowid DESC LIMIT ?2)`,
      owner,
      liveLimits.sessionsPerAccountMax,
    )
    return true
  }

  /** Returns the threads of a session, and notes that it is in use. */
  use(topic: string, now: number): string[] {
    this.#prepare()
    const [session] = this.#sql
      .exec<{ post_ids: string }>(
        'UPDATE sessions SET used_at = ? WHERE topic = ? RETURNING post_ids',
        now,
        topic,
      )
      .toArray()
    return session ? (JSON.parse(session.post_ids) as string[]) : []
  }

  /** Returns whether no session is left. */
  deleteUnused(before: number): boolean {
    this.#prepare()
    this.#sql.exec('DELETE FROM sessions WHERE used_at < ?', before)
    return this.#sql.exec('SELECT 1 FROM sessions LIMIT 1').toArray().length === 0
  }

  /** Most objects never have a session. */
  #prepare(): void {
    if (this.#isReady) return
    this.#sql.exec(`CREATE TABLE IF NOT EXISTS sessions (topic TEXT PRIMARY KEY, owner TEXT NOT NULL,
      post_ids TEXT NOT NULL, used_at INTEGER NOT NULL)`)
    this.#isReady = true
  }
}
