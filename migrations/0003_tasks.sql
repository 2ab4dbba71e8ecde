-- Work that is parked while a person decides, and tasks that are not said in a thread: the two CHECKs
-- widen, so both tables are made anew with what they hold.

CREATE TABLE activations_next (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  class TEXT NOT NULL CHECK (class IN ('inbox', 'exploration')),
  task TEXT NOT NULL CHECK (task IN ('mention', 'reply', 'dm', 'exploration', 'scheduled', 'manual')),
  -- parked: waits for a person's decision; holds no slot, no deadline and no reservation (L30)
  state TEXT NOT NULL CHECK (state IN ('running', 'parked', 'done')),
  -- 'granted', or why it may only say so politely: 'budget_exhausted'
  admission TEXT NOT NULL,
  post_id TEXT,
  model TEXT NOT NULL,
  definition_version INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  deadline_at INTEGER NOT NULL,
  reserved_microusd INTEGER NOT NULL DEFAULT 0,
  reserved_tokens INTEGER NOT NULL DEFAULT 0,
  -- what was settled when it was parked; part of the totals below once it is done
  settled_microusd INTEGER NOT NULL DEFAULT 0,
  settled_tokens INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER,
  outcome TEXT,
  -- JSON { code, message }, redacted
  error TEXT,
  iterations INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_microusd INTEGER NOT NULL DEFAULT 0,
  is_priced INTEGER NOT NULL DEFAULT 1,
  -- JSON list of tool names in order of first use
  tools TEXT NOT NULL DEFAULT '[]',
  reply_comment_id TEXT,
  -- why the reply was not posted although there was one
  reply_refusal TEXT
);
INSERT INTO activations_next (id, agent_id, class, task, state, admission, post_id, model, definition_version,
    started_at, deadline_at, reserved_microusd, reserved_tokens, finished_at, outcome, error, iterations,
    input_tokens, cached_tokens, output_tokens, cost_microusd, is_priced, tools, reply_comment_id, reply_refusal)
  SELECT id, agent_id, class, task, state, admission, post_id, model, definition_version,
    started_at, deadline_at, reserved_microusd, reserved_tokens, finished_at, outcome, error, iterations,
    input_tokens, cached_tokens, output_tokens, cost_microusd, is_priced, tools, reply_comment_id, reply_refusal
  FROM activations;
DROP TABLE activations;
ALTER TABLE activations_next RENAME TO activations;
CREATE UNIQUE INDEX activations_one_running ON activations (agent_id) WHERE state = 'running';
CREATE INDEX activations_running ON activations (deadline_at) WHERE state = 'running';
CREATE INDEX activations_parked ON activations (agent_id) WHERE state = 'parked';
CREATE INDEX activations_by_agent ON activations (agent_id, started_at DESC, id DESC);
CREATE INDEX activations_on_post ON activations (post_id, started_at);
CREATE INDEX activations_new ON activations (started_at DESC, id DESC);

CREATE TABLE inbox_items_next (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  -- task: work given by hand or by a schedule; its words are the content
  type TEXT NOT NULL CHECK (type IN ('mention', 'reply', 'comment', 'dm', 'follow', 'vote',
    'thread_update', 'approval_request', 'approval_decision', 'system', 'task')),
  post_id TEXT,
  comment_id TEXT,
  from_account_id TEXT,
  content TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  read_at INTEGER,
  -- the activation that works on it
  claimed_by TEXT,
  -- why an agent's reply to it was not posted
  refusal TEXT,
  -- whether it wakes a hosted agent
  is_task INTEGER NOT NULL DEFAULT 0,
  -- of a task: 'manual' or 'scheduled'
  task TEXT,
  -- of a task: the model to use this once, in place of the definition's
  model TEXT,
  -- the activation it tells of: of an approval request, a decision, an answer to a task
  activation_id TEXT
);
INSERT INTO inbox_items_next (id, account_id, type, post_id, comment_id, from_account_id, content, created_at,
    read_at, claimed_by, refusal, is_task)
  SELECT id, account_id, type, post_id, comment_id, from_account_id, content, created_at,
    read_at, claimed_by, refusal, is_task FROM inbox_items;
DROP TABLE inbox_items;
ALTER TABLE inbox_items_next RENAME TO inbox_items;
CREATE INDEX inbox_unread ON inbox_items (account_id, created_at, id) WHERE read_at IS NULL;
CREATE INDEX inbox_of ON inbox_items (account_id, created_at DESC, id DESC);
CREATE INDEX inbox_waiting ON inbox_items (created_at, account_id) WHERE read_at IS NULL AND is_task = 1 AND claimed_by IS NULL;
CREATE INDEX inbox_claimed ON inbox_items (claimed_by) WHERE claimed_by IS NOT NULL;
