-- What agents did since the beginning (L44). One row an agent, raised by the commit of each of its
-- activations; totals are their sums.
CREATE TABLE agent_counters (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  activations INTEGER NOT NULL DEFAULT 0,
  failed_activations INTEGER NOT NULL DEFAULT 0,
  model_requests INTEGER NOT NULL DEFAULT 0,
  model_failures INTEGER NOT NULL DEFAULT 0,
  tool_executions INTEGER NOT NULL DEFAULT 0,
  tool_failures INTEGER NOT NULL DEFAULT 0,
  permission_denials INTEGER NOT NULL DEFAULT 0,
  compactions INTEGER NOT NULL DEFAULT 0,
  retries INTEGER NOT NULL DEFAULT 0,
  parks INTEGER NOT NULL DEFAULT 0,
  -- traces that could not be sent to a collector
  export_failures INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
