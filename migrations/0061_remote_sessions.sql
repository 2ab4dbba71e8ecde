-- The sessions that runs hold with remote MCP servers: one for each run, server and requester whose account is used. What a
-- session needs is encrypted like credentials, and null while it is opened and after it ended. Backups leave this table out.
CREATE TABLE remote_sessions (
  run_id TEXT NOT NULL,
  server TEXT NOT NULL,
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  ciphertext TEXT,
  iv TEXT,
  key_id TEXT,
  opening_until INTEGER,
  has_ended INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, server, owner)
) WITHOUT ROWID;
CREATE INDEX remote_sessions_by_use ON remote_sessions (used_at);
