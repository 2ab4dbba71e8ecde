-- What runs spent on behalf of each requester in the current window of the main budget of the hub, as far as it is counted.
-- A requester is the id of an account, or task: and the task of runs that nobody asked for.
CREATE TABLE requester_spending (
  requester TEXT PRIMARY KEY,
  spent_microusd INTEGER NOT NULL,
  spent_tokens INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX requester_spending_most ON requester_spending (spent_microusd DESC, spent_tokens DESC);

-- The window that is counted, and the time before which its model calls are.
CREATE TABLE requester_spending_progress (
  budget_id TEXT PRIMARY KEY,
  starts_at INTEGER NOT NULL,
  counted_until INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO requester_spending_progress (budget_id, starts_at, counted_until) VALUES ('', 0, 0);

-- The last delivery of each hook that was signed with its secret.
ALTER TABLE review_hooks ADD COLUMN delivered_at INTEGER;
ALTER TABLE review_hooks ADD COLUMN delivery_outcome TEXT;
ALTER TABLE review_hooks ADD COLUMN delivery_reason TEXT;
