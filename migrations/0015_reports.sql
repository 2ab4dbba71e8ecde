-- What the hub's own account has said, so that it says each thing once (B9).
CREATE TABLE reports (
  -- of what it says: 'activity:day:<day>', 'unusual:<day>:<agent>', 'budget:<budget>:...'
  key TEXT PRIMARY KEY,
  post_id TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What each agent did on each day (UTC, counted from the epoch), raised when an activation ends.
CREATE TABLE agent_days (
  account_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  activations INTEGER NOT NULL DEFAULT 0,
  answers INTEGER NOT NULL DEFAULT 0,
  -- said while it looked around, and turns in which it had nothing to say
  contributions INTEGER NOT NULL DEFAULT 0,
  passes INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  out_of_budget INTEGER NOT NULL DEFAULT 0,
  -- answers that were not posted as they were, tool calls that policy denied, agents it did not wake
  refused_answers INTEGER NOT NULL DEFAULT 0,
  refused_calls INTEGER NOT NULL DEFAULT 0,
  braked_mentions INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, day)
) WITHOUT ROWID;
CREATE INDEX agent_days_of_day ON agent_days (day);

INSERT INTO agent_days (account_id, day, activations, answers, contributions, passes, failures, out_of_budget,
    refused_answers)
  SELECT x.agent_id, x.finished_at / 86400000, count(*), count(x.reply_comment_id), count(n.activation_id),
    sum(x.task = 'exploration' AND x.outcome = 'completed' AND n.activation_id IS NULL),
    sum(x.outcome = 'failed'), sum(x.outcome = 'budget_exhausted'), count(x.reply_refusal)
  FROM activations x LEFT JOIN contributions n ON n.activation_id = x.id
  WHERE x.state = 'done' AND x.finished_at IS NOT NULL AND x.outcome IS NOT NULL
  GROUP BY x.agent_id, x.finished_at / 86400000;

CREATE TRIGGER days_worked AFTER UPDATE OF state ON activations
WHEN new.state = 'done' AND old.state <> 'done' AND new.finished_at IS NOT NULL AND new.outcome IS NOT NULL
BEGIN
  INSERT INTO agent_days (account_id, day, activations, answers, contributions, passes, failures, out_of_budget,
      refused_answers, refused_calls)
    SELECT new.agent_id, new.finished_at / 86400000, 1,
      new.reply_comment_id IS NOT NULL
        OR EXISTS (SELECT 1 FROM inbox_items WHERE activation_id = new.id AND type = 'reply'),
      c.has_spoken, new.task = 'exploration' AND new.outcome = 'completed' AND NOT c.has_spoken,
      new.outcome = 'failed', new.outcome = 'budget_exhausted', new.reply_refusal IS NOT NULL,
      (SELECT count(*) FROM audit_log WHERE activation_id = new.id AND decision IN ('denied', 'rate_limited'))
    FROM (SELECT EXISTS (SELECT 1 FROM contributions WHERE activation_id = new.id) AS has_spoken) c
    WHERE 1
  ON CONFLICT (account_id, day) DO UPDATE SET
    activations = activations + 1, answers = answers + excluded.answers,
    contributions = contributions + excluded.contributions, passes = passes + excluded.passes,
    failures = failures + excluded.failures, out_of_budget = out_of_budget + excluded.out_of_budget,
    refused_answers = refused_answers + excluded.refused_answers,
    refused_calls = refused_calls + excluded.refused_calls;
END;

-- An agent named another one, and a brake kept that from being woken (H11).
CREATE TRIGGER mentions_braked AFTER INSERT ON inbox_items
WHEN new.refusal IS NOT NULL AND new.type = 'mention' AND new.is_task = 0 AND new.from_account_id IS NOT NULL
BEGIN
  INSERT INTO agent_days (account_id, day, braked_mentions)
    VALUES (new.from_account_id, new.created_at / 86400000, 1)
  ON CONFLICT (account_id, day) DO UPDATE SET braked_mentions = braked_mentions + 1;
END;

-- How far used each budget was when the hub last spoke of it: 0 healthy, 1 warning, 2 throttle,
-- 3 critical. A budget that never crossed a threshold has no row.
CREATE TABLE budget_levels (
  budget_id TEXT PRIMARY KEY,
  -- of the window it was said of
  starts_at INTEGER NOT NULL DEFAULT 0,
  level INTEGER NOT NULL DEFAULT 0,
  -- a threshold may have been crossed since: look soon
  is_crossed INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX budget_levels_open ON budget_levels (budget_id) WHERE is_crossed = 1 OR level > 0;
CREATE INDEX budget_levels_crossed ON budget_levels (budget_id) WHERE is_crossed = 1;

CREATE TRIGGER budgets_spent AFTER UPDATE OF spent_microusd, spent_tokens ON budget_windows
WHEN new.spent_microusd > old.spent_microusd OR new.spent_tokens > old.spent_tokens
BEGIN
  INSERT INTO budget_levels (budget_id, is_crossed)
    SELECT b.id, 1 FROM budgets b LEFT JOIN budget_levels l ON l.budget_id = b.id AND l.starts_at = new.starts_at
    WHERE b.id = new.budget_id AND coalesce(l.level, 0) <
      (coalesce(new.spent_microusd >= b.limit_microusd * b.warning_share, 0) OR
        coalesce(new.spent_tokens >= b.limit_tokens * b.warning_share, 0)) +
      (coalesce(new.spent_microusd >= b.limit_microusd * b.throttle_share, 0) OR
        coalesce(new.spent_tokens >= b.limit_tokens * b.throttle_share, 0)) +
      (coalesce(new.spent_microusd >= b.limit_microusd * b.critical_share, 0) OR
        coalesce(new.spent_tokens >= b.limit_tokens * b.critical_share, 0))
  ON CONFLICT (budget_id) DO UPDATE SET is_crossed = 1;
END;

-- A new budget counts from the beginning of its period.
CREATE TRIGGER budgets_begun AFTER INSERT ON budget_windows
WHEN new.spent_microusd > 0 OR new.spent_tokens > 0
BEGIN
  INSERT INTO budget_levels (budget_id, is_crossed) VALUES (new.budget_id, 1)
  ON CONFLICT (budget_id) DO UPDATE SET is_crossed = 1;
END;

CREATE TRIGGER budgets_changed AFTER UPDATE OF limit_microusd, limit_tokens, warning_share, throttle_share, critical_share
ON budgets
BEGIN
  INSERT INTO budget_levels (budget_id, is_crossed) VALUES (new.id, 1)
  ON CONFLICT (budget_id) DO UPDATE SET is_crossed = 1;
END;
