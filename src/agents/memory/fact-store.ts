import type { Privacy } from '../../hub/contract/hub'
import type {
  FactQuery,
  NewFact,
  NewTask,
  OpenTask,
  RememberedFact,
} from '../../mcp-servers/contract/tools'
import { memoryLimits } from '../../shared/config'
import {
  type FactRow,
  selectFacts,
  selectTasks,
  type TaskRow,
  taskColumns,
  toFact,
  toTask,
} from './fact-rows'
import type { MemoryStore } from './memory-store'
import { rankFacts } from './rank-facts'

type Read<Query> = Query & Pick<Privacy, 'reader'>

/**
 * Facts and open tasks of one agent, for its tools. All methods are idempotent, because a call whose
 * response was lost is retried. What is private to another account than the reader does not exist for a
 * call; the limits count it.
 */
export class FactStore {
  readonly #memory: MemoryStore

  constructor(memory: MemoryStore) {
    this.#memory = memory
  }

  /**
   * Saves a fact and returns its id; null when the limit is reached. The same text again updates the
   * existing fact, but never one with another privacy. A mark as untrusted stays.
   */
  save({ text, source, privateTo, isUntrusted }: NewFact, now: number): { id: number } | null {
    const [row] = this.#memory.write<{ id: number }>(
      `INSERT INTO facts (text, source, created_at, used_at, private_to, is_untrusted)
       SELECT ?1, ?2, ?3, ?3, ?4, ?5
       WHERE (SELECT count(*) FROM facts WHERE text <> ?1 OR private_to <> ?4) < ${memoryLimits.factsMax}
       ON CONFLICT (text, private_to) DO UPDATE SET used_at = excluded.used_at,
         source = CASE excluded.source WHEN '' THEN source ELSE excluded.source END,
         is_untrusted = max(is_untrusted, excluded.is_untrusted)
       RETURNING id`,
      text,
      source,
      now,
      privateTo ?? '',
      Number(isUntrusted),
    )
    return row ?? null
  }

  /** Deletes a fact. Returns false when no fact ever had this id. */
  delete({ id, reader }: Read<{ id: number }>): boolean {
    const deleted = this.#memory.query(
      "DELETE FROM facts WHERE id = ? AND private_to IN ('', ?) RETURNING id",
      id,
      reader ?? '',
    )
    if (deleted.length > 0) return true
    const [last] = this.#memory.query<{ seq: number }>(
      "SELECT seq FROM sqlite_sequence WHERE name = 'facts'",
    )
    return id <= (last?.seq ?? 0)
  }

  /** Returns facts, newest first or the best matches of `words`, and all open tasks. */
  list({ words, limit, reader }: FactQuery): {
    facts: RememberedFact[]
    factCount: number
    tasks: OpenTask[]
  } {
    const all = this.#memory.query<FactRow>(selectFacts, reader ?? '', noLimit).map(toFact)
    const facts = words === null ? all : rankFacts(all, words, limit).reverse()
    return { facts: facts.slice(0, limit), factCount: all.length, tasks: this.#listTasks(reader) }
  }

  /** Adds a task and returns its id; null when too many tasks are open. */
  addTask({ text, key, privateTo, isUntrusted }: NewTask, now: number): { id: number } | null {
    const [row] = this.#memory.write<{ id: number }>(
      `INSERT INTO tasks (text, added_by, created_at, private_to, is_untrusted) SELECT ?1, ?2, ?3, ?4, ?5
       WHERE (SELECT count(*) FROM tasks WHERE done_at IS NULL AND added_by IS NOT ?2) < ${memoryLimits.openTasksMax}
       ON CONFLICT (added_by) DO UPDATE SET text = text RETURNING id`,
      text,
      key,
      now,
      privateTo ?? '',
      Number(isUntrusted),
    )
    return row ?? null
  }

  /** Completes a task and returns it; null when it doesn't exist. */
  completeTask(
    { id, note, reader }: Read<{ id: number; note: string }>,
    now: number,
  ): OpenTask | null {
    const [row] = this.#memory.query<TaskRow>(
      `UPDATE tasks SET done_at = coalesce(done_at, ?2), note = CASE note WHEN '' THEN ?3 ELSE note END
       WHERE id = ?1 AND private_to IN ('', ?4)
       RETURNING ${taskColumns}`,
      id,
      now,
      note,
      reader ?? '',
    )
    return row ? toTask(row) : null
  }

  #listTasks(reader: FactQuery['reader']): OpenTask[] {
    return this.#memory.query<TaskRow>(selectTasks, reader ?? '', noLimit).map(toTask)
  }
}

/** SQLite's LIMIT for all rows. */
const noLimit = -1
