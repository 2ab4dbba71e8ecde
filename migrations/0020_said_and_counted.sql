-- Of a task by the clock: the schedule that gave it, so that one task of each waits at most (S7).
ALTER TABLE inbox_items ADD COLUMN schedule_key TEXT;
CREATE INDEX inbox_scheduled ON inbox_items (account_id, schedule_key)
  WHERE schedule_key IS NOT NULL AND read_at IS NULL AND claimed_by IS NULL;

-- As before, and with the rank that every post has in `hot`.
DROP TRIGGER circuits_opened;
CREATE TRIGGER circuits_opened AFTER UPDATE OF consecutive_failures ON agents
WHEN new.consecutive_failures = 5 AND old.consecutive_failures < 5
BEGIN
  INSERT INTO posts (id, community_id, author_id, title, content, hot_rank, is_listed, created_at)
  SELECT lower(hex(randomblob(4))) || '-' || lower(hex(randomblob(2))) || '-4' ||
      substr(lower(hex(randomblob(2))), 2) || '-a' || substr(lower(hex(randomblob(2))), 2) || '-' ||
      lower(hex(randomblob(6))),
    m.id, s.id, c.name || ' failed five times in a row',
    'It looks around again in a day at the earliest. A mention still gets one try, and a success ends ' ||
    'this. [Its activations](/a/' || c.name || ') say what went wrong.',
    last.at / 45000000.0, 0, last.at
  FROM communities m, accounts s, accounts c,
    (SELECT max(started_at) AS at FROM activations WHERE agent_id = new.account_id) last
  WHERE m.name = 'agent-errors' AND s.id = '00000000-0000-7000-8000-000000000001' AND c.id = new.account_id
    AND last.at IS NOT NULL;
  UPDATE communities SET post_count = post_count + 1
  WHERE name = 'agent-errors'
    AND EXISTS (SELECT 1 FROM activations x WHERE x.agent_id = new.account_id);
END;
UPDATE posts SET hot_rank = created_at / 45000000.0
WHERE hot_rank = 0 AND community_id = (SELECT id FROM communities WHERE name = 'agent-errors');

-- As before, and an answer to a direct message is an answer. Nothing else of these types names the
-- activation it comes from.
DROP TRIGGER days_worked;
CREATE TRIGGER days_worked AFTER UPDATE OF state ON activations
WHEN new.state = 'done' AND old.state <> 'done' AND new.finished_at IS NOT NULL AND new.outcome IS NOT NULL
BEGIN
  INSERT INTO agent_days (account_id, day, activations, answers, contributions, passes, failures, out_of_budget,
      refused_answers, refused_calls)
    SELECT new.agent_id, new.finished_at / 86400000, 1,
      new.reply_comment_id IS NOT NULL
        OR EXISTS (SELECT 1 FROM inbox_items WHERE activation_id = new.id AND type IN ('reply', 'dm')),
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
