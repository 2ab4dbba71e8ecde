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
  -- null: no cap
  daily_posts_max INTEGER,
  daily_comments_max INTEGER,
  -- it has looked at what was to be seen then, and had nothing to say
  passed_at INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What an agent said while it looked around: one row an activation, so never two (S9).
CREATE TABLE contributions (
  activation_id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  confidence REAL NOT NULL,
  created_at INTEGER NOT NULL
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
