import type {
  AgentKnowledge,
  KnowledgeChange,
  KnowledgeView,
  KnownFact,
  KnownTask,
  PrivateOutcome,
  SessionFacts,
} from '../contract/agents'
import { canReadSession } from '../contract/knowledge'
import type { FactRow, TaskRow } from './fact-rows'
import type { MemoryStore } from './memory-store'

type Page = { before: number | null; limit: number; sessionsMax: number }
type FileChange = Extract<KnowledgeChange, { kind: 'delete_file' }>

const factColumns = `id, text, source, created_at AS createdAt, private_to AS owner, is_untrusted AS isUntrusted`
const taskColumns = `id, text, created_at AS createdAt, private_to AS owner, is_untrusted AS isUntrusted`

/** What an agent remembers, as people read and correct it. Private rows of others do not exist for a viewer. */
export class KnowledgeStore {
  readonly #memory: MemoryStore

  constructor(memory: MemoryStore) {
    this.#memory = memory
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
    if (change.kind === 'correct_fact') return this.#correct(change)
    this.#memory.query('DELETE FROM facts WHERE id = ?', change.id)
    this.#memory.query('DELETE FROM shares WHERE fact_id = ?', change.id)
    return 'done'
  }

  #correct({ id, text, source, isUntrusted }: Extract<KnowledgeChange, { kind: 'correct_fact' }>) {
    const corrected = this.#memory.query(
      'UPDATE OR IGNORE facts SET text = ?2, source = ?3, is_untrusted = ?4 WHERE id = ?1 RETURNING id',
      id,
      text,
      source,
      Number(isUntrusted),
    )
    return corrected.length > 0 ? 'done' : 'taken'
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
  ...{ id, text, createdAt, isUntrusted: isUntrusted === 1 },
  privateTo: owner === '' ? null : (owner as KnownTask['privateTo']),
})
