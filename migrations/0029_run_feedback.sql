-- What people think of the answer of a run: one row per run and account. A value is 1 or -1.
CREATE TABLE run_feedback (
  activation_id TEXT NOT NULL REFERENCES activations (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  value INTEGER NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (activation_id, account_id)
) WITHOUT ROWID;
CREATE INDEX run_feedback_by_agent ON run_feedback (agent_id, updated_at DESC);
CREATE INDEX run_feedback_by_account ON run_feedback (account_id);

-- Filters of the list of runs that an account keeps under a name. The query is that of the page.
CREATE TABLE run_views (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL COLLATE NOCASE,
  query TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, name)
) WITHOUT ROWID;
