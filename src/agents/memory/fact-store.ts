import type { Privacy } from '../../hub/contract/hub'
import type {
  FactQuery,
  FoundFacts,
  NewFact,
  NewTask,
  OpenTask,
  RememberedFact,
} from '../../mcp-servers/contract/tools'
import { memoryLimits } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import type {
  AgentKnowledge,
  KnowledgeChange,
  KnowledgeView,
  KnownFact,
  KnownTask,
  PrivateChange,
  PrivateFact,
  PrivateOutcome,
  SessionFacts,
} from '../contract/agents'
import { canReadSession } from '../contract/sessions'
import {
  type FactRow,
  factColumns,
  type MemoryStore,
  rankFacts,
  selectFacts,
  selectTasks,
  type TaskRow,
  taskColumns,
  toFact,
  toTask,
} from './memory-store'

type Read<Query> = Query & Pick<Privacy, 'reader'>

/**
 * Facts and open tasks of one agent, for its tools. All methods are idempotent, because a call whose
 * response was lost is retried. What is private to another account than the reader does not exist for a
 * call; the limits count it.
 */
export class FactStore {
  readonly #memory: MemoryStore
  readonly #past: PastFacts

  constructor(memory: MemoryStore) {
    this.#memory = memory
    this.#past = new PastFacts(memory)
  }

  /**
   * Saves a fact and returns its id; null when the limit is reached. The same text again updates the
   * existing fact, but never one with another privacy. A mark as untrusted stays.
   */
  save({ text, source, privateTo, isUntrusted }: NewFact, now: number): { id: number } | null {
    const [known] = this.#memory.query<KeptFact>(
      `SELECT ${keptColumns} FROM facts WHERE text = ? AND private_to = ?`,
      text,
      privateTo ?? '',
    )
    const isChange =
      known !== undefined &&
      ((source !== '' && source !== known.source) || (isUntrusted && known.isUntrusted === 0))
    if (isChange) this.#past.keep(known, now)
    const [row] = this.#memory.write<{ id: number }>(
      `INSERT INTO facts (text, source, created_at, used_at, private_to, is_untrusted)
       SELECT ?1, ?2, ?3, ?3, ?4, ?5
       WHERE (SELECT count(*) FROM facts WHERE text <> ?1 OR private_to <> ?4) < ${memoryLimits.factsMax}
       ON CONFLICT (text, private_to) DO UPDATE SET used_at = excluded.used_at,
         source = CASE excluded.source WHEN '' THEN source ELSE excluded.source END,
         is_untrusted = max(is_untrusted, excluded.is_untrusted), changed_at = coalesce(?6, changed_at)
       RETURNING id`,
      text,
      source,
      now,
      privateTo ?? '',
      Number(isUntrusted),
      isChange ? now : null,
    )
    return row ?? null
  }

  /** Deletes a fact, and keeps what it was for a while. Returns false when no fact ever had this id. */
  delete({ id, reader }: Read<{ id: number }>, now: number): boolean {
    const [deleted] = this.#memory.query<KeptFact>(
      `DELETE FROM facts WHERE id = ? AND private_to IN ('', ?) RETURNING ${keptColumns}`,
      id,
      reader ?? '',
    )
    if (deleted) {
      this.#past.keep(deleted, now)
      return true
    }
    const [last] = this.#memory.query<{ seq: number }>(
      "SELECT seq FROM sqlite_sequence WHERE name = 'facts'",
    )
    return id <= (last?.seq ?? 0)
  }

  /** Returns facts, newest first or the best matches of `words`, and all open tasks. */
  list(query: Omit<FactQuery, 'at'>): FoundFacts {
    const reader = query.reader ?? ''
    const all = this.#memory.query<FactRow>(selectFacts, reader, noLimit).map(toFact)
    return toFound(all, this.#memory.query<TaskRow>(selectTasks, reader, noLimit), query)
  }

  /** Returns the same as of a time. Null: not all of what was then is kept. */
  listThen(query: Omit<FactQuery, 'at'>, at: number, now: number): FoundFacts | null {
    const reader = query.reader ?? ''
    const all = this.#past.list(reader, at, now)
    return all && toFound(all, this.#memory.query<TaskRow>(selectTasksThen, reader, at), query)
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
}

/** Selects the facts that a query asks for. */
function toFound(
  all: RememberedFact[],
  tasks: TaskRow[],
  { words, limit }: Omit<FactQuery, 'at'>,
): FoundFacts {
  const facts = words === null ? all : rankFacts(all, words, limit).reverse()
  return { facts: facts.slice(0, limit), factCount: all.length, tasks: tasks.map(toTask) }
}

/** The open tasks as of a time, oldest first; parameters: reader, time. */
const selectTasksThen = `SELECT ${taskColumns} FROM tasks
  WHERE created_at <= ?2 AND coalesce(done_at > ?2, 1) AND private_to IN ('', ?1) ORDER BY id`

/** SQLite's LIMIT for all rows. */
const noLimit = -1

const columns = 'f.id, f.text, f.source, f.created_at AS createdAt'

/** Facts that an agent keeps for one account alone, as the account lists, shares and deletes them. */
export class PrivateFacts {
  readonly #memory: MemoryStore
  readonly #past: PastFacts

  constructor(memory: MemoryStore) {
    this.#memory = memory
    this.#past = new PastFacts(memory)
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
    else if (change === 'unshare' && isShared) this.#unshare(owner, id, now)
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
    if (!this.#move(id, { from: owner, to: '' }, now)) return 'taken'
    this.#memory.write(
      'INSERT OR REPLACE INTO shares (fact_id, owner, shared_at) VALUES (?, ?, ?)',
      id,
      owner,
      now,
    )
    return 'done'
  }

  /** Makes a fact private again. One that the account had noted again meanwhile takes its place. */
  #unshare(owner: AccountId, id: number, now: number): void {
    if (!this.#move(id, { from: '', to: owner }, now)) this.#delete(id)
    else this.#memory.write('DELETE FROM shares WHERE fact_id = ?', id)
  }

  /** Gives a fact other readers, unless they know the same text already. */
  #move(id: number, { from, to }: Record<'from' | 'to', string>, now: number): boolean {
    const [fact] = this.#memory.query<KeptFact>(
      `SELECT ${keptColumns} FROM facts WHERE id = ? AND private_to = ?`,
      id,
      from,
    )
    const moved = this.#memory.query(
      'UPDATE OR IGNORE facts SET private_to = ?3, changed_at = ?4 WHERE id = ?1 AND private_to = ?2 RETURNING id',
      id,
      from,
      to,
      now,
    )
    if (!fact || moved.length === 0) return false
    this.#past.keep(fact, now)
    return true
  }

  #delete(id: number): void {
    deleteForever(this.#memory, this.#past, id)
  }
}

/** Deletes a fact and what it was. */
function deleteForever(memory: MemoryStore, past: PastFacts, id: number): void {
  const [fact] = memory.query<FactRow>(
    `DELETE FROM facts WHERE id = ? RETURNING ${factColumns}`,
    id,
  )
  memory.query('DELETE FROM shares WHERE fact_id = ?', id)
  if (fact) past.purge(fact)
}

type Page = { before: number | null; limit: number; sessionsMax: number }
type FileChange = Extract<KnowledgeChange, { kind: 'delete_file' }>

/** What an agent remembers, as people read and correct it. Private rows of others do not exist for a viewer. */
export class KnowledgeStore {
  readonly #memory: MemoryStore
  readonly #past: PastFacts

  constructor(memory: MemoryStore) {
    this.#memory = memory
    this.#past = new PastFacts(memory)
  }

  /** Returns facts and open tasks that the viewer sees, and those of the sessions. */
  list(
    view: KnowledgeView,
    sessions: SessionFacts[],
    { before, limit, sessionsMax }: Page,
  ): Pick<AgentKnowledge, 'facts' | 'tasks' | 'sessions'> {
    const seen = JSON.stringify([...(view.seesShared ? [''] : []), ...view.owners])
    const shared = new Map(
      this.#memory
        .query<{ id: number; at: number }>(
          'SELECT fact_id AS id, shared_at AS at FROM shares WHERE owner = ?',
          view.self,
        )
        .map(({ id, at }) => [id, at]),
    )
    const facts = this.#memory.query<FactRow>(
      `SELECT ${factColumns} FROM facts WHERE (private_to IN (SELECT value FROM json_each(?))
         OR id IN (SELECT value FROM json_each(?))) AND id < ?
       ORDER BY id DESC LIMIT ?`,
      seen,
      JSON.stringify([...shared.keys()]),
      before ?? Number.MAX_SAFE_INTEGER,
      limit,
    )
    const tasks = this.#memory.query<TaskRow>(
      `SELECT ${taskColumns} FROM tasks WHERE done_at IS NULL
         AND private_to IN (SELECT value FROM json_each(?)) ORDER BY id`,
      seen,
    )
    return {
      facts: facts.map((row): KnownFact => {
        const { source } = row
        return {
          ...toKnown(row),
          source,
          sharedAt: row.owner === '' ? (shared.get(row.id) ?? null) : null,
        }
      }),
      tasks: tasks.map(toKnown),
      sessions: sessions.filter((each) => canReadSession(view, each)).slice(0, sessionsMax),
    }
  }

  change(
    view: KnowledgeView,
    change: Exclude<KnowledgeChange, FileChange>,
    now: number,
  ): PrivateOutcome {
    const table = change.kind === 'close_task' ? 'tasks' : 'facts'
    if (!this.#canChange(view, table, change.id)) return 'missing'
    if (change.kind === 'close_task') {
      this.#memory.query(
        "UPDATE tasks SET done_at = coalesce(done_at, ?2), note = iif(note = '', ?3, note) WHERE id = ?1",
        change.id,
        now,
        change.note,
      )
      return 'done'
    }
    if (change.kind === 'correct_fact') return this.#correct(change, now)
    deleteForever(this.#memory, this.#past, change.id)
    return 'done'
  }

  /** Replaces a fact for ever: what a person corrects is not kept. */
  #correct(
    { id, text, source, isUntrusted }: Extract<KnowledgeChange, { kind: 'correct_fact' }>,
    now: number,
  ) {
    const [before] = this.#memory.query<FactRow>(
      `SELECT ${factColumns} FROM facts WHERE id = ?`,
      id,
    )
    const corrected = this.#memory.query(
      `UPDATE OR IGNORE facts SET text = ?2, source = ?3, is_untrusted = ?4, changed_at = ?5
       WHERE id = ?1 RETURNING id`,
      id,
      text,
      source,
      Number(isUntrusted),
      now,
    )
    if (!before || corrected.length === 0) return 'taken'
    this.#past.purge(before)
    return 'done'
  }

  /** A manager changes what they see; others what is private to them, and what they shared. */
  #canChange(view: KnowledgeView, table: 'facts' | 'tasks', id: number): boolean {
    const [row] = this.#memory.query<{ owner: string }>(
      `SELECT private_to AS owner FROM ${table} WHERE id = ?`,
      id,
    )
    if (!row) return false
    if (row.owner === view.self) return true
    if (view.isManager) return row.owner === '' || view.owners.some((each) => each === row.owner)
    return row.owner === '' && table === 'facts' && this.#hasShared(view, id)
  }

  #hasShared({ self }: KnowledgeView, id: number): boolean {
    const sql = 'SELECT fact_id FROM shares WHERE fact_id = ? AND owner = ?'
    return this.#memory.query(sql, id, self).length > 0
  }
}

const toKnown = ({ id, text, createdAt, owner, isUntrusted }: TaskRow): KnownTask => ({
  id,
  text,
  createdAt,
  isUntrusted: isUntrusted === 1,
  privateTo: owner === '' ? null : (owner as KnownTask['privateTo']),
})

/** A fact with what decides from when on it was as it is. */
type KeptFact = FactRow & { since: number }

/** Columns of a fact that is to be kept. */
const keptColumns = `${factColumns}, max(created_at, changed_at) AS since`

/**
 * What facts were before the agent changed or deleted them, so that they can be listed as of a time. What a person
 * deletes or corrects, and what is deleted with an account, is not kept.
 */
class PastFacts {
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
