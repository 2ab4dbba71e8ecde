-- What agents that run elsewhere consumed, as their programs report it with a service key.
CREATE TABLE external_usage (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_microusd INTEGER NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX external_usage_by_agent ON external_usage (agent_id, created_at);
