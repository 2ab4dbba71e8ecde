/**
 * Tables of an agent's memory between activations, in its own SQLite. Every table and index is a page
 * that is held in memory and written, for each of many agents. So there are few, and each is created
 * when it is first needed. A row of `turns` is one finished activation.
 */
const turnTables = `
  CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    -- stands for the turns that were compacted away
    summary TEXT NOT NULL DEFAULT '',
    activations INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cost_microusd INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS turns (
    seq INTEGER PRIMARY KEY,
    activation_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- what was asked and answered, in one line; empty when it is nobody else's business
    gist TEXT NOT NULL,
    -- JSON list of messages
    messages TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS turns_of ON turns (session_id, seq);`

const factTable = `
  CREATE TABLE IF NOT EXISTS facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL);`

const taskTable = `
  CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL,
    -- activation and call that added it: the same call adds it once
    added_by TEXT UNIQUE,
    created_at INTEGER NOT NULL,
    done_at INTEGER,
    note TEXT NOT NULL DEFAULT '');`

/** Values by key: an agent's statistics. */
const keptTable =
  'CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;'

const schemas: Record<string, string> = {
  sessions: turnTables,
  turns: turnTables,
  kept: keptTable,
  facts: factTable,
  tasks: taskTable,
  // SQLite creates this table for tables with AUTOINCREMENT.
  sqlite_sequence: factTable,
}

/** SQL that creates the tables for finished activations. */
export const activationTables = turnTables

/** Returns the SQL that creates the table that an error reports as missing; null for other errors. */
export function findMissingTableSchema(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const name = /no such table: (\w+)/.exec(error.message)?.[1]
  return (name && schemas[name]) || null
}
