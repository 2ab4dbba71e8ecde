import type { OpenTask, RememberedFact } from '../../mcp-servers/contract/tools'
import { memoryLimits } from '../../shared/config'
import { rankFacts } from '../memory/rank-facts'
import type { MemoryStore } from './memory-store'

/**
 * Facts and open tasks of one agent, for its tools. All methods are idempotent, because a call whose
 * response was lost is retried.
 */
export class FactStore {
  readonly #memory: MemoryStore

  constructor(memory: MemoryStore) {
    this.#memory = memory
  }

  /**
   * Saves a fact and returns its id; null when the limit is reached. The same text again updates the
   * existing fact.
   */
  save(fact: { text: string; source: string }, now: number): { id: number } | null {
    const [row] = this.#memory.write<{ id: number }>(
      `INSERT INTO facts (text, source, created_at, used_at) SELECT ?1, ?2, ?3, ?3
       WHERE (SELECT count(*) FROM facts WHERE text <> ?1) < ${memoryLimits.factsMax}
       ON CONFLICT (text) DO UPDATE SET used_at = excluded.used_at,
         source = CASE excluded.source WHEN '' THEN source ELSE excluded.source END
       RETURNING id`,
      fact.text,
      fact.source,
      now,
    )
    return row ?? null
  }

  /** Deletes a fact. Returns false when no fact ever had this id. */
  delete(id: number): boolean {
    const deleted = this.#memory.query('DELETE FROM facts WHERE id = ? RETURNING id', id)
    if (deleted.length > 0) return true
    const [last] = this.#memory.query<{ seq: number }>(
      "SELECT seq FROM sqlite_sequence WHERE name = 'facts'",
    )
    return id <= (last?.seq ?? 0)
  }

  /** Returns facts, newest first or the best matches of `words`, and all open tasks. */
  list({ words, limit }: { words: string | null; limit: number }): {
    facts: RememberedFact[]
    factCount: number
    tasks: OpenTask[]
  } {
    const all = this.#memory.query<Row<RememberedFact>>(
      'SELECT id, text, source, created_at AS createdAt FROM facts ORDER BY id DESC',
    )
    const facts = words === null ? all : rankFacts(all, words, limit).reverse()
    return { facts: facts.slice(0, limit), factCount: all.length, tasks: this.#listTasks() }
  }

  /** Adds a task and returns its id; null when too many tasks are open. */
  addTask({ text, key }: { text: string; key: string | null }, now: number): { id: number } | null {
    const [row] = this.#memory.write<{ id: number }>(
      `INSERT INTO tasks (text, added_by, created_at) SELECT ?1, ?2, ?3
       WHERE (SELECT count(*) FROM tasks WHERE done_at IS NULL AND added_by IS NOT ?2) < ${memoryLimits.openTasksMax}
       ON CONFLICT (added_by) DO UPDATE SET text = text RETURNING id`,
      text,
      key,
      now,
    )
    return row ?? null
  }

  /** Completes a task and returns its text; null when it doesn't exist. */
  completeTask({ id, note }: { id: number; note: string }, now: number): string | null {
    const [row] = this.#memory.query<{ text: string }>(
      `UPDATE tasks SET done_at = coalesce(done_at, ?2), note = CASE note WHEN '' THEN ?3 ELSE note END
       WHERE id = ?1 RETURNING text`,
      id,
      now,
      note,
    )
    return row?.text ?? null
  }

  #listTasks(): OpenTask[] {
    return this.#memory.query<Row<OpenTask>>(
      'SELECT id, text, created_at AS createdAt FROM tasks WHERE done_at IS NULL ORDER BY id',
    )
  }
}

/** The row type of an interface, as SQLite returns it. */
type Row<Shape> = { [Field in keyof Shape]: Shape[Field] & SqlStorageValue }
