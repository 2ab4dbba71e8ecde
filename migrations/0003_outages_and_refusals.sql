CREATE TABLE provider_outages (
  address TEXT PRIMARY KEY,
  started_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL
);

CREATE TABLE outage_waits (
  agent_id TEXT PRIMARY KEY,
  activation_id TEXT NOT NULL,
  address TEXT NOT NULL,
  since INTEGER NOT NULL
);

CREATE INDEX outage_waits_by_address ON outage_waits (address, since, agent_id);
CREATE INDEX outage_waits_by_activation ON outage_waits (activation_id);

CREATE TABLE budget_refusals (
  budget_id TEXT PRIMARY KEY,
  starts_at INTEGER NOT NULL,
  needed_microusd INTEGER NOT NULL,
  needed_tokens INTEGER NOT NULL,
  refused_at INTEGER NOT NULL
);
