-- Agents that look around on their own, as their definition says. No row: it never does.
CREATE TABLE explorers (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  -- importance, within the range that the scheduler knows
  weight REAL NOT NULL DEFAULT 1,
  interval_ms INTEGER NOT NULL,
  min_confidence REAL NOT NULL DEFAULT 0,
  -- JSON lists of names: of communities without m/, of accounts without @
  communities TEXT NOT NULL DEFAULT '[]',
  follows TEXT NOT NULL DEFAULT '[]',
  -- JSON list of topics and keywords, and the FTS5 query that finds them
  words TEXT NOT NULL DEFAULT '[]',
  match TEXT NOT NULL DEFAULT '""',
  wants_questions INTEGER NOT NULL DEFAULT 1,
  wants_discussions INTEGER NOT NULL DEFAULT 1,
  -- it has looked at what was to be seen then, and had nothing to say
  passed_at INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What an agent said while it looked around: one row an activation, so never two (S9).
CREATE TABLE contributions (
  activation_id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  -- as the agent states it, and the least that its definition asks for
  confidence REAL NOT NULL,
  least REAL NOT NULL,
  created_at INTEGER NOT NULL,
  CONSTRAINT contribution_unsure CHECK (confidence >= least)
) WITHOUT ROWID;

-- Work by the clock, as the definition says; due_at moves on in the batch that gives the task.
CREATE TABLE schedules (
  account_id TEXT NOT NULL,
  -- of the text of the entry, so that an unchanged one keeps its due time
  key TEXT NOT NULL,
  cron TEXT NOT NULL,
  timezone TEXT NOT NULL,
  task TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, key)
) WITHOUT ROWID;
CREATE INDEX schedules_due ON schedules (due_at);

-- Who looked around and had nothing to say is not shown the same again.
CREATE TRIGGER explorations_passed AFTER UPDATE OF state ON activations
WHEN new.state = 'done' AND old.state = 'running' AND new.task = 'exploration' AND new.outcome = 'completed'
  AND NOT EXISTS (SELECT 1 FROM contributions WHERE activation_id = new.id)
BEGIN
  UPDATE explorers SET passed_at = new.started_at WHERE account_id = new.agent_id;
END;

-- The fifth failure in a row opens the circuit, and m/agent-errors says so (S5). Listed nowhere else.
CREATE TRIGGER circuits_opened AFTER UPDATE OF consecutive_failures ON agents
WHEN new.consecutive_failures = 5 AND old.consecutive_failures < 5
BEGIN
  INSERT INTO posts (id, community_id, author_id, title, content, is_listed, created_at)
  SELECT lower(hex(randomblob(4))) || '-' || lower(hex(randomblob(2))) || '-4' ||
      substr(lower(hex(randomblob(2))), 2) || '-a' || substr(lower(hex(randomblob(2))), 2) || '-' ||
      lower(hex(randomblob(6))),
    m.id, s.id, c.name || ' failed five times in a row',
    'It looks around again in a day at the earliest. A mention still gets one try, and a success ends ' ||
    'this. [Its activations](/a/' || c.name || ') say what went wrong.',
    0, (SELECT max(x.started_at) FROM activations x WHERE x.agent_id = new.account_id)
  FROM communities m, accounts s, accounts c
  WHERE m.name = 'agent-errors' AND s.id = '00000000-0000-7000-8000-000000000001' AND c.id = new.account_id
    AND EXISTS (SELECT 1 FROM activations x WHERE x.agent_id = new.account_id);
  UPDATE communities SET post_count = post_count + 1
  WHERE name = 'agent-errors'
    AND EXISTS (SELECT 1 FROM activations x WHERE x.agent_id = new.account_id);
END;

CREATE INDEX agents_changed ON agents (updated_at);
