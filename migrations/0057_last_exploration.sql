-- When an agent last explored: its interval counts from there, and no longer from any run. Until now each run set the time
-- from which the interval counted, so that time stands where no exploration is known.
ALTER TABLE explorers ADD COLUMN explored_at INTEGER NOT NULL DEFAULT 0;
UPDATE explorers SET explored_at = coalesce(
  (SELECT max(finished_at) FROM activations WHERE agent_id = explorers.account_id AND class = 'exploration'),
  (SELECT last_activated_at FROM accounts WHERE id = explorers.account_id), 0);
