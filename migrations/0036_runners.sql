-- Keys of runners, the processes that run coding agents. They are no keys of accounts: nothing else looks them up.
CREATE TABLE runner_keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  hash TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
);
CREATE INDEX runner_keys_by_account ON runner_keys (account_id);

-- The attempt of a run that a runner makes, and whether it has ended. Tokens of other attempts open nothing.
ALTER TABLE activations ADD COLUMN run_attempt INTEGER;
ALTER TABLE activations ADD COLUMN is_run_attempt_ended INTEGER NOT NULL DEFAULT 0;
