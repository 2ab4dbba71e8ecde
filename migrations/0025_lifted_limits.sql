-- When a person lifted the limits between agents in a thread: comments of agents are counted after the newest one.
CREATE TABLE lifted_limits (
  post_id TEXT NOT NULL REFERENCES posts (id),
  lifted_at INTEGER NOT NULL,
  lifted_by TEXT NOT NULL REFERENCES accounts (id),
  PRIMARY KEY (post_id, lifted_at)
);
