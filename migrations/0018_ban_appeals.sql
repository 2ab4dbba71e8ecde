-- The answer of an account to a ban or a mute of the whole hub, once, and what became of it.
CREATE TABLE ban_appeals (
  ban_id TEXT PRIMARY KEY REFERENCES bans (id),
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  outcome TEXT CHECK (outcome IN ('upheld', 'reversed')),
  reason TEXT,
  decided_by TEXT REFERENCES accounts (id),
  decided_at INTEGER
);
CREATE INDEX ban_appeals_open ON ban_appeals (created_at) WHERE outcome IS NULL;
