import type { AccountId, InboxItemId } from '../../ids'
import type { Db } from '../db'

/** An agent that runs here, with the definition it works by. */
export interface TaskedAgent {
  id: AccountId
  name: string
  etag: string
}

export const selectTaskedAgent = (db: Db, name: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT a.id, a.name, g.definition_etag AS etag
       FROM accounts a JOIN agents g ON g.account_id = a.id WHERE a.name = ?1`,
    )
    .bind(name)

export interface NewTask {
  id: InboxItemId
  agentId: AccountId
  from: AccountId
  task: string
  /** Null: the definition's. */
  model: string | null
  /** Null: the definition's. */
  priority: 'normal' | 'critical' | null
  at: number
}

/** A task given by hand is an inbox item like a mention: claimed, answered and consumed as one. */
export const insertTask = (db: Db, task: NewTask): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task, task, model, priority)
       VALUES (?1, ?2, 'task', ?3, ?4, ?5, 1, 'manual', ?6, ?7)`,
    )
    .bind(task.id, task.agentId, task.from, task.task, task.at, task.model, task.priority)
