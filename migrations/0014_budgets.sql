-- Budgets of every scope, several of one scope, with thresholds of their own; and what an activation
-- and a usage event say of who pays for them.

CREATE TABLE budgets_next (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL CHECK (scope IN ('hub', 'agent', 'executor', 'model', 'community')),
  -- '' for the hub, account id of an agent, name of an executor or provider, provider/model, id of a community
  scope_id TEXT NOT NULL DEFAULT '',
  period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month')),
  reset_day INTEGER NOT NULL DEFAULT 1,
  timezone TEXT NOT NULL DEFAULT 'UTC',
  -- null: no limit of that kind
  limit_microusd INTEGER,
  limit_tokens INTEGER,
  -- shares of the limit from which on it warns, pauses looking around, and refuses tasks
  warning_share REAL NOT NULL DEFAULT 0.8,
  throttle_share REAL NOT NULL DEFAULT 0.9,
  critical_share REAL NOT NULL DEFAULT 1,
  -- whether tasks of critical priority may use what lies beyond critical_share
  allows_critical INTEGER NOT NULL DEFAULT 0,
  -- an agent's definition sets a limit of its own beside those that admins made
  made_by TEXT NOT NULL DEFAULT 'admin' CHECK (made_by IN ('admin', 'definition')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (scope, scope_id, period, made_by)
);
INSERT INTO budgets_next (id, scope, scope_id, period, reset_day, timezone, limit_microusd, limit_tokens,
    made_by, created_at, updated_at)
  SELECT id, scope, scope_id, period, reset_day, timezone, limit_microusd, limit_tokens,
    iif(scope = 'agent', 'definition', 'admin'), created_at, updated_at
  FROM budgets;
DROP TABLE budgets;
ALTER TABLE budgets_next RENAME TO budgets;

-- JSON list of the models whose budgets it spends from
ALTER TABLE activations ADD COLUMN models TEXT NOT NULL DEFAULT '[]';
ALTER TABLE activations ADD COLUMN community_id TEXT;
ALTER TABLE activations ADD COLUMN priority TEXT NOT NULL DEFAULT 'normal';
-- the latest time at which money was reserved: clocks of several machines differ, its own never goes back
ALTER TABLE activations ADD COLUMN reserved_at INTEGER NOT NULL DEFAULT 0;
UPDATE activations SET models = json_array(model),
  community_id = (SELECT p.community_id FROM posts p WHERE p.id = post_id)
  WHERE state <> 'done';

ALTER TABLE usage_events ADD COLUMN community_id TEXT;
UPDATE usage_events SET community_id = (SELECT p.community_id FROM posts p WHERE p.id = post_id)
  WHERE post_id IS NOT NULL;

-- JSON list of the models that could do its tasks, `model` first
ALTER TABLE agents ADD COLUMN models TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN priority TEXT NOT NULL DEFAULT 'normal';
-- tokens of all model calls of one activation
ALTER TABLE agents ADD COLUMN activation_tokens_max INTEGER;

ALTER TABLE inbox_items ADD COLUMN priority TEXT;
