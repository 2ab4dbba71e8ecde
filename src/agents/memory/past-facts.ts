import type { RememberedFact } from '../../mcp-servers/contract/tools'
import { memoryLimits } from '../../shared/config'
import { type FactRow, factColumns, type MemoryStore, toFact } from './memory-store'

/** A fact with what decides from when on it was as it is. */
export type KeptFact = FactRow & { since: number }

/** Columns of a fact that is to be kept. */
export const keptColumns = `${factColumns}, max(created_at, changed_at) AS since`

/**
 * What facts were before the agent changed or deleted them, so that they can be listed as of a time. What a person
 * deletes or corrects, and what is deleted with an account, is not kept.
 */
export class PastFacts {
  readonly #memory: MemoryStore

  constructor(memory: MemoryStore) {
    this.#memory = memory
  }

  /** Keeps what a fact was until now, and deletes what is older or more than is kept. */
  keep({ id, text, source, createdAt, owner, isUntrusted, since }: KeptFact, now: number): void {
    this.#memory.write(
      `INSERT INTO past_facts (fact_id, text, source, created_at, private_to, is_untrusted, since, until)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      text,
      source,
      createdAt,
      owner,
      isUntrusted,
      since,
      now,
    )
    this.#prune(now)
  }

  /** Deletes what a fact was, and what others of the same text and readers were. */
  purge({ id, text, owner }: Pick<FactRow, 'id' | 'text' | 'owner'>): void {
    this.#memory.query(
      'DELETE FROM past_facts WHERE fact_id = ?1 OR (text = ?2 AND private_to = ?3)',
      id,
      text,
      owner,
    )
  }

  /**
   * Returns the facts that a reader saw as of a time and sees today, newest first. Null: what was deleted or changed
   * since is not all kept.
   *
   * @param reader '' for nobody
   */
  list(reader: string, at: number, now: number): RememberedFact[] | null {
    if (at < this.#findHorizon(now)) return null
    const unchanged = this.#memory.query<FactRow>(
      `SELECT ${factColumns} FROM facts
       WHERE created_at <= ?2 AND changed_at <= ?2 AND private_to IN ('', ?1)`,
      reader,
      at,
    )
    const changed = this.#memory.query<FactRow>(selectPast, reader, at)
    return [...unchanged, ...changed].sort((a, b) => b.id - a.id).map(toFact)
  }

  /** The time since when all is known. */
  #findHorizon(now: number): number {
    const [row] = this.#memory.query<{ value: string }>('SELECT value FROM kept WHERE key = ?', key)
    return Math.max(Number(row?.value ?? 0), now - memoryLimits.pastFactsMs)
  }

  #prune(now: number): void {
    const tooMany = this.#memory.query<{ until: number }>(
      `DELETE FROM past_facts WHERE seq <= (SELECT max(seq) FROM past_facts) - ${memoryLimits.pastFactsMax}
       RETURNING until`,
    )
    const tooOld = this.#memory.query<{ until: number }>(
      `DELETE FROM past_facts WHERE until < ?
         AND seq IN (SELECT seq FROM past_facts ORDER BY seq LIMIT ${prunedMax}) RETURNING until`,
      now - memoryLimits.pastFactsMs,
    )
    const deleted = [...tooMany, ...tooOld].map(({ until }) => until)
    if (deleted.length === 0) return
    this.#memory.write(
      'INSERT OR REPLACE INTO kept (key, value) VALUES (?, ?)',
      key,
      String(Math.max(...deleted)),
    )
  }
}

const key = 'facts_known_since'

/** Versions that one change deletes because of their age, more than it adds. */
const prunedMax = 20

/**
 * What facts were then, of those that are not as they were. Who reads one today is what its fact says, or its last
 * version if there is no fact any more. Parameters: reader, time.
 */
const selectPast = `
  WITH last AS (SELECT fact_id, private_to, max(seq) FROM past_facts GROUP BY fact_id)
  SELECT v.fact_id AS id, v.text, v.source, v.created_at AS createdAt, v.private_to AS owner, v.is_untrusted AS isUntrusted
  FROM past_facts v JOIN last ON last.fact_id = v.fact_id LEFT JOIN facts f ON f.id = v.fact_id
  WHERE v.since <= ?2 AND v.until > ?2 AND v.private_to IN ('', ?1)
    AND coalesce(f.private_to, last.private_to) IN ('', ?1)`
