import type { AccountId, InboxItemId } from '../../shared/ids'
import type { Db } from '../db'

/** An agent that runs on this hub, with its current definition. */
export interface TaskAgent {
  id: AccountId
  name: string
  etag: string
}

/** Selects an agent of this hub by name. */
export const selectTaskAgent = (db: Db, name: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT a.id, a.name, g.definition_etag AS etag
       FROM accounts a JOIN agents g ON g.account_id = a.id WHERE a.name = ?1`,
    )
    .bind(name)

/** A task to insert; `at` is in milliseconds since the Unix epoch. */
export interface NewTask {
  id: InboxItemId
  agentId: AccountId
  requesterId: AccountId
  task: string
  /** Null: the definition's model. */
  model: string | null
  /** Null: the definition's priority. */
  priority: 'normal' | 'critical' | null
  at: number
}

/** Inserts a task as an inbox item, which is claimed, answered and consumed like a mention. */
export const insertTask = (db: Db, task: NewTask): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task, task, model, priority)
       VALUES (?1, ?2, 'task', ?3, ?4, ?5, 1, 'manual', ?6, ?7)`,
    )
    .bind(task.id, task.agentId, task.requesterId, task.task, task.at, task.model, task.priority)
