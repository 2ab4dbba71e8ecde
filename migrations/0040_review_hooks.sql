-- Branches that runs of coding agents pushed, each with the thread that it belongs to. The newest push counts.
CREATE TABLE pushed_branches (
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  repository TEXT NOT NULL,
  branch TEXT NOT NULL,
  post_id TEXT NOT NULL REFERENCES posts (id),
  pushed_at INTEGER NOT NULL,
  pull_number INTEGER,
  PRIMARY KEY (agent_id, repository, branch)
) WITHOUT ROWID;
-- Addresses that take reviews of pull requests for an agent. What they start is asked by their account.
CREATE TABLE review_hooks (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL
);
CREATE INDEX review_hooks_by_account ON review_hooks (account_id, created_at);
CREATE INDEX review_hooks_by_agent ON review_hooks (agent_id);
-- Reviews that were taken, so that none is taken twice however often it is sent.
CREATE TABLE received_reviews (
  hook_id TEXT NOT NULL,
  review_key TEXT NOT NULL,
  comment_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (hook_id, review_key)
) WITHOUT ROWID;
