-- Budgets of single requesters, and of all guests together. The table is made again for its new scopes.
CREATE TABLE budgets_new (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL CHECK (scope IN ('hub', 'agent', 'executor', 'model', 'community', 'requester', 'guests')),
  scope_id TEXT NOT NULL DEFAULT '',
  period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month')),
  reset_day INTEGER NOT NULL DEFAULT 1,
  timezone TEXT NOT NULL DEFAULT 'UTC',
  limit_microusd INTEGER,
  limit_tokens INTEGER,
  warning_share REAL NOT NULL DEFAULT 0.8,
  throttle_share REAL NOT NULL DEFAULT 0.9,
  critical_share REAL NOT NULL DEFAULT 1,
  allows_critical INTEGER NOT NULL DEFAULT 0,
  made_by TEXT NOT NULL DEFAULT 'admin' CHECK (made_by IN ('admin', 'definition')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (scope, scope_id, period, made_by)
);
INSERT INTO budgets_new SELECT id, scope, scope_id, period, reset_day, timezone, limit_microusd, limit_tokens,
  warning_share, throttle_share, critical_share, allows_critical, made_by, created_at, updated_at FROM budgets;
DROP TABLE budgets;
ALTER TABLE budgets_new RENAME TO budgets;

-- A tenth of the first budget of the hub.
INSERT INTO budgets (id, scope, period, limit_microusd, created_at, updated_at) VALUES
  ('00000000-0000-7000-8000-000000000202', 'guests', 'month', 2000000, 0, 0);

-- Whether a run acts for a guest, so that the budget of the guests pays for it.
ALTER TABLE activations ADD COLUMN is_for_guest INTEGER NOT NULL DEFAULT 0;
