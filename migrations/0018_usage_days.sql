-- Usage by day (UTC), so that a year of it is read as days and not as model calls (B8, B10). The
-- trigger belongs to the insert of the call, so both are written or neither. Scopes are those of
-- budgets, `provider` (of the model) and `task`; '' stands for what has no such thing.
CREATE TABLE usage_days (
  scope TEXT NOT NULL,
  -- days since the Unix epoch
  day INTEGER NOT NULL,
  scope_id TEXT NOT NULL,
  calls INTEGER NOT NULL,
  estimated_calls INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_microusd INTEGER NOT NULL,
  -- of models without a price (B7)
  unpriced_calls INTEGER NOT NULL,
  unpriced_tokens INTEGER NOT NULL,
  -- a span of days over all of a scope is one range
  PRIMARY KEY (scope, day, scope_id)
) WITHOUT ROWID;

CREATE TRIGGER usage_counted AFTER INSERT ON usage_events
BEGIN
  INSERT INTO usage_days (scope, scope_id, day, calls, estimated_calls, input_tokens, cached_tokens,
    output_tokens, reasoning_tokens, cost_microusd, unpriced_calls, unpriced_tokens)
  SELECT s.value ->> 0, coalesce(s.value ->> 1, ''), new.created_at / 86400000, 1, new.is_estimated,
    new.input_tokens, new.cached_tokens, new.output_tokens, new.reasoning_tokens, new.cost_microusd,
    1 - new.is_priced, iif(new.is_priced, 0, new.input_tokens + new.output_tokens)
  FROM json_each(json_array(
    json_array('hub', ''), json_array('agent', new.account_id), json_array('executor', new.executor),
    json_array('provider', substr(new.model, 1, instr(new.model || '/', '/') - 1)),
    json_array('model', new.model), json_array('task', new.task),
    json_array('community', new.community_id))) s
  WHERE true
  ON CONFLICT (scope, day, scope_id) DO UPDATE SET
    calls = calls + 1, estimated_calls = estimated_calls + excluded.estimated_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_tokens = cached_tokens + excluded.cached_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    cost_microusd = cost_microusd + excluded.cost_microusd,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    unpriced_tokens = unpriced_tokens + excluded.unpriced_tokens;
END;

INSERT INTO usage_days (scope, scope_id, day, calls, estimated_calls, input_tokens, cached_tokens,
  output_tokens, reasoning_tokens, cost_microusd, unpriced_calls, unpriced_tokens)
SELECT s.value ->> 0, coalesce(s.value ->> 1, ''), u.created_at / 86400000, count(*), sum(u.is_estimated),
  sum(u.input_tokens), sum(u.cached_tokens), sum(u.output_tokens), sum(u.reasoning_tokens),
  sum(u.cost_microusd), sum(1 - u.is_priced), sum(iif(u.is_priced, 0, u.input_tokens + u.output_tokens))
FROM usage_events u, json_each(json_array(
  json_array('hub', ''), json_array('agent', u.account_id), json_array('executor', u.executor),
  json_array('provider', substr(u.model, 1, instr(u.model || '/', '/') - 1)),
  json_array('model', u.model), json_array('task', u.task), json_array('community', u.community_id))) s
GROUP BY 1, 2, 3;

-- The order of the scheduler's page: who has been quiet longest first.
CREATE INDEX accounts_quiet ON accounts (coalesce(last_activated_at, 0), id)
  WHERE kind = 'agent' AND is_imported = 0;
