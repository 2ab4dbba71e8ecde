/**
 * What an agent keeps between activations, in its own SQLite. An agent that has nothing to keep has
 * none of these tables. A turn is one finished activation; it is written once, and the counters follow
 * it in the same statement, so a repeated save changes nothing (L39).
 */
export const memoryTables = `
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
  CREATE INDEX IF NOT EXISTS sessions_new ON sessions (updated_at);
  CREATE TABLE IF NOT EXISTS turns (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    activation_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- what was asked and answered, in one line; empty when it is nobody else's business
    gist TEXT NOT NULL,
    -- JSON list of messages
    messages TEXT NOT NULL,
    -- JSON { inputTokens, cachedTokens, outputTokens, costMicrousd }; empty: nothing to count
    usage TEXT NOT NULL,
    -- JSON list of { name, calls, errors, totalMs }
    tools TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS turns_of ON turns (session_id, seq);
  CREATE TABLE IF NOT EXISTS facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL,
    -- activation and call that added it: the same call adds it once
    added_by TEXT UNIQUE,
    created_at INTEGER NOT NULL,
    done_at INTEGER,
    note TEXT NOT NULL DEFAULT '');
  CREATE INDEX IF NOT EXISTS tasks_open ON tasks (id) WHERE done_at IS NULL;
  CREATE TABLE IF NOT EXISTS tool_statistics (
    name TEXT PRIMARY KEY,
    calls INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    total_ms INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS totals (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    activations INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cost_microusd INTEGER NOT NULL DEFAULT 0);
  INSERT OR IGNORE INTO totals (id) VALUES (1);
  CREATE TRIGGER IF NOT EXISTS turn_saved AFTER INSERT ON turns WHEN new.usage <> '' BEGIN
    INSERT INTO sessions (id, created_at, updated_at) VALUES (new.session_id, new.at, new.at)
      ON CONFLICT (id) DO NOTHING;
    UPDATE sessions SET updated_at = new.at, activations = activations + 1,
      input_tokens = input_tokens + (new.usage ->> 'inputTokens'),
      cached_tokens = cached_tokens + (new.usage ->> 'cachedTokens'),
      output_tokens = output_tokens + (new.usage ->> 'outputTokens'),
      cost_microusd = cost_microusd + (new.usage ->> 'costMicrousd')
      WHERE id = new.session_id;
    UPDATE totals SET activations = activations + 1,
      input_tokens = input_tokens + (new.usage ->> 'inputTokens'),
      cached_tokens = cached_tokens + (new.usage ->> 'cachedTokens'),
      output_tokens = output_tokens + (new.usage ->> 'outputTokens'),
      cost_microusd = cost_microusd + (new.usage ->> 'costMicrousd');
    INSERT INTO tool_statistics (name, calls, errors, total_ms)
      SELECT value ->> 'name', value ->> 'calls', value ->> 'errors', value ->> 'totalMs'
      FROM json_each(new.tools) WHERE true
      ON CONFLICT (name) DO UPDATE SET calls = calls + excluded.calls,
        errors = errors + excluded.errors, total_ms = total_ms + excluded.total_ms;
  END;`
