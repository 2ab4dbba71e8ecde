-- Budgets that hold for each member or each guest. The table is made again for its new scopes.
CREATE TABLE budgets_new (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL CHECK (scope IN ('hub', 'agent', 'executor', 'model', 'community', 'requester', 'guests',
    'role:member', 'role:guest')),
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

-- What each account has spent of such a budget in one of its windows. An account without a row has spent nothing.
CREATE TABLE budget_account_windows (
  budget_id TEXT NOT NULL,
  starts_at INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  spent_microusd INTEGER NOT NULL DEFAULT 0,
  spent_tokens INTEGER NOT NULL DEFAULT 0,
  needed_microusd INTEGER,
  needed_tokens INTEGER,
  alert TEXT NOT NULL DEFAULT 'none' CHECK (alert IN ('none', 'due', 'sent')),
  PRIMARY KEY (budget_id, starts_at, account_id)
) WITHOUT ROWID;
CREATE INDEX budget_account_windows_due ON budget_account_windows (budget_id) WHERE alert = 'due';

-- Who pays for a run: its requesters and their owners, each with the role and the part at the time of the claim.
ALTER TABLE activations ADD COLUMN payers TEXT NOT NULL DEFAULT '{}';
UPDATE activations SET payers = coalesce((
  SELECT json_group_object(p.payer, json_object('role', coalesce(iif(a.kind = 'system', 'system', a.role), 'guest'), 'parts', p.parts, 'isFirst', p.is_first))
  FROM (
    SELECT n.payer, count(*) AS parts, max(n.place = 0) AS is_first FROM (
      SELECT key AS place, value AS payer FROM json_each(activations.requesters)
      UNION ALL
      SELECT r.key, o.owner_id FROM json_each(activations.requesters) r JOIN accounts o ON o.id = r.value
      WHERE o.owner_id IS NOT NULL) n
    GROUP BY n.payer) p
  LEFT JOIN accounts a ON a.id = p.payer), '{}')
WHERE requesters <> '[]';

-- Guests get at most a tenth of each budget of the hub whose period is the same or longer.
UPDATE budgets SET limit_microusd = min(coalesce(limit_microusd, 9000000000000000), (
    SELECT min(h.limit_microusd / 10) FROM budgets h WHERE h.scope = 'hub' AND h.limit_microusd IS NOT NULL
      AND instr('day week month', h.period) >= instr('day week month', budgets.period)))
  WHERE scope = 'guests' AND EXISTS (SELECT 1 FROM budgets h WHERE h.scope = 'hub' AND h.limit_microusd IS NOT NULL
    AND instr('day week month', h.period) >= instr('day week month', budgets.period));
UPDATE budgets SET limit_tokens = min(coalesce(limit_tokens, 9000000000000000), (
    SELECT min(h.limit_tokens / 10) FROM budgets h WHERE h.scope = 'hub' AND h.limit_tokens IS NOT NULL
      AND instr('day week month', h.period) >= instr('day week month', budgets.period)))
  WHERE scope = 'guests' AND EXISTS (SELECT 1 FROM budgets h WHERE h.scope = 'hub' AND h.limit_tokens IS NOT NULL
    AND instr('day week month', h.period) >= instr('day week month', budgets.period));
