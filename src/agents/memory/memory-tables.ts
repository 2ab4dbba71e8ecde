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
    -- JSON of the last model call
    last_call TEXT,
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
    messages TEXT NOT NULL,
    -- the account whose runs alone see it; empty: all
    private_to TEXT NOT NULL DEFAULT '',
    -- of a private turn: stands for all turns before it that its runs see
    own_summary TEXT NOT NULL DEFAULT '',
    -- its run had read text by a guest or from outside; what is not known to be free of it counts as such
    is_untrusted INTEGER NOT NULL DEFAULT 1);
  CREATE INDEX IF NOT EXISTS turns_of ON turns (session_id, seq);`

const createFacts = (name: string) => `
  CREATE TABLE IF NOT EXISTS ${name} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    -- the account whose runs alone see it; empty: all
    private_to TEXT NOT NULL DEFAULT '',
    -- noted by a run that had read text by a guest or from outside
    is_untrusted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (text, private_to));`

const factTable = createFacts('facts')

const taskTable = `
  CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL,
    -- activation and call that added it: the same call adds it once
    added_by TEXT UNIQUE,
    created_at INTEGER NOT NULL,
    done_at INTEGER,
    note TEXT NOT NULL DEFAULT '',
    -- the account whose runs alone see it; empty: all
    private_to TEXT NOT NULL DEFAULT '',
    -- added by a run that had read text by a guest or from outside
    is_untrusted INTEGER NOT NULL DEFAULT 1);`

/** Values by key: an agent's statistics. */
const keptTable =
  'CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;'

/** Facts that an account shared, which were private to it. */
const shareTable = `
  CREATE TABLE IF NOT EXISTS shares (
    fact_id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    shared_at INTEGER NOT NULL);`

/** Sessions of programs on runners, for the next run of a thread that has the same readers. */
const programSessionTable = `
  CREATE TABLE IF NOT EXISTS program_sessions (
    thread TEXT NOT NULL,
    -- the program, and who may read what it has read
    audience TEXT NOT NULL,
    session TEXT NOT NULL,
    -- it has read data that is private to the reader
    is_private INTEGER NOT NULL,
    -- JSON list of the runs that have used it
    runs TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (thread, audience)) WITHOUT ROWID;`

/** SQL that creates each table; that of two can be the same. */
export const memoryTables: Readonly<Record<string, string>> = {
  program_sessions: programSessionTable,
  sessions: turnTables,
  turns: turnTables,
  kept: keptTable,
  facts: factTable,
  shares: shareTable,
  tasks: taskTable,
}

// SQLite creates its table for tables with AUTOINCREMENT.
const schemas: Record<string, string> = { ...memoryTables, sqlite_sequence: factTable }

/** SQL that creates the tables for finished activations. */
export const activationTables = turnTables

/** Returns the SQL that creates the table that an error reports as missing; null for other errors. */
export function findMissingTableSchema(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const name = /no such table: (\w+)/.exec(error.message)?.[1]
  return (name && schemas[name]) || null
}

/** Statements that add the columns of later versions to a table, which may have rows. */
const upgrades: Record<string, string> = {
  sessions: 'ALTER TABLE sessions ADD COLUMN last_call TEXT',
  turns: `ALTER TABLE turns ADD COLUMN private_to TEXT NOT NULL DEFAULT '';
    ALTER TABLE turns ADD COLUMN own_summary TEXT NOT NULL DEFAULT '';
    ALTER TABLE turns ADD COLUMN is_untrusted INTEGER NOT NULL DEFAULT 1;`,
  tasks: `ALTER TABLE tasks ADD COLUMN private_to TEXT NOT NULL DEFAULT '';
    ALTER TABLE tasks ADD COLUMN is_untrusted INTEGER NOT NULL DEFAULT 1;`,
  // The unique columns changed, which takes a new table. The row that is inserted and deleted first
  // keeps the numbers of deleted facts from being given again.
  facts: `${createFacts('new_facts')}
    INSERT INTO new_facts (id, text, source, created_at, used_at)
      SELECT seq, '', '', 0, 0 FROM sqlite_sequence WHERE name = 'facts';
    DELETE FROM new_facts;
    INSERT INTO new_facts (id, text, source, created_at, used_at, is_untrusted)
      SELECT id, text, source, created_at, used_at, 1 FROM facts;
    DROP TABLE facts;
    ALTER TABLE new_facts RENAME TO facts;`,
}

/** Whether an error reports a column that tables of an earlier version lack. */
export const isMissingColumn = (error: unknown): boolean =>
  error instanceof Error &&
  /(no such column: (\w+\.)?|has no column named )(private_to|own_summary|is_untrusted|last_call)/.test(
    error.message,
  )

/** Returns the SQL that upgrades a table; null when it has all columns. @param sql how it was created */
export const findUpgrade = (name: string, sql: string): string | null =>
  sql.includes(name === 'sessions' ? 'last_call' : 'private_to') ? null : (upgrades[name] ?? null)
