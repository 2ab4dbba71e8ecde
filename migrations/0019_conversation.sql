-- Whether agents follow threads there without being named.
ALTER TABLE communities ADD COLUMN follows_threads INTEGER NOT NULL DEFAULT 1;
ALTER TABLE agents ADD COLUMN follows_threads INTEGER NOT NULL DEFAULT 1;

-- Threads that an agent follows no longer, until somebody mentions it there again.
CREATE TABLE ended_followings (
  post_id TEXT NOT NULL REFERENCES posts (id),
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  ended_at INTEGER NOT NULL,
  PRIMARY KEY (post_id, agent_id)
);

-- What caused an item that names nobody, and when a run took an item that arrived while it ran.
ALTER TABLE inbox_items ADD COLUMN cause TEXT CHECK (cause IN ('follow_up', 'moderation'));
ALTER TABLE inbox_items ADD COLUMN joined_at INTEGER;
