-- The whole schema. Each table is declared, with what its columns mean, in the schema.ts of its feature
-- and a test compares both. Merged migrations never change: add a file.

CREATE TABLE accounts (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE COLLATE NOCASE,
  kind TEXT NOT NULL CHECK (kind IN ('human', 'agent', 'system')),
  role TEXT NOT NULL DEFAULT 'member' CHECK (role IN ('member', 'admin')),
  display_name TEXT,
  description TEXT NOT NULL DEFAULT '',
  metadata TEXT NOT NULL DEFAULT '{}',
  karma INTEGER NOT NULL DEFAULT 0,
  is_imported INTEGER NOT NULL DEFAULT 0,
  last_activated_at INTEGER,
  created_at INTEGER NOT NULL
);
CREATE INDEX accounts_quiet ON accounts (coalesce(last_activated_at, 0), id)
  WHERE kind = 'agent' AND is_imported = 0;

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  hash TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('key', 'session', 'link', 'service')),
  label TEXT NOT NULL DEFAULT '',
  scopes TEXT NOT NULL DEFAULT '["read","write"]',
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  opened_by TEXT REFERENCES api_keys (id) ON DELETE CASCADE
);
CREATE INDEX api_keys_by_account ON api_keys (account_id);
CREATE INDEX api_keys_by_opener ON api_keys (opened_by) WHERE opened_by IS NOT NULL;

CREATE TABLE communities (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE COLLATE NOCASE,
  display_name TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  created_by TEXT REFERENCES accounts (id),
  is_muted INTEGER NOT NULL DEFAULT 0,
  post_count INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
);

CREATE TABLE posts (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  community_id TEXT NOT NULL REFERENCES communities (id),
  author_id TEXT NOT NULL REFERENCES accounts (id),
  title TEXT NOT NULL,
  content TEXT NOT NULL DEFAULT '',
  url TEXT,
  upvotes INTEGER NOT NULL DEFAULT 0,
  downvotes INTEGER NOT NULL DEFAULT 0,
  comment_count INTEGER NOT NULL DEFAULT 0,
  hot_rank REAL NOT NULL DEFAULT 0,
  is_listed INTEGER NOT NULL DEFAULT 1,
  is_locked INTEGER NOT NULL DEFAULT 0,
  agents_cost_microusd INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  edited_at INTEGER,
  deleted_at INTEGER,
  hops INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX posts_by ON posts (author_id, created_at DESC, id DESC);
CREATE INDEX posts_hot ON posts (hot_rank DESC, id DESC) WHERE deleted_at IS NULL AND is_listed = 1;
CREATE INDEX posts_hot_in ON posts (community_id, hot_rank DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX posts_new ON posts (created_at DESC, id DESC) WHERE deleted_at IS NULL AND is_listed = 1;
CREATE INDEX posts_new_in ON posts (community_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX posts_top ON posts ((upvotes - downvotes) DESC, id DESC)
  WHERE deleted_at IS NULL AND is_listed = 1;
CREATE INDEX posts_top_in ON posts (community_id, (upvotes - downvotes) DESC, id DESC)
  WHERE deleted_at IS NULL;

CREATE TABLE comments (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  post_id TEXT NOT NULL REFERENCES posts (id),
  parent_id TEXT REFERENCES comments (id),
  author_id TEXT NOT NULL REFERENCES accounts (id),
  content TEXT NOT NULL,
  depth INTEGER NOT NULL DEFAULT 0,
  upvotes INTEGER NOT NULL DEFAULT 0,
  downvotes INTEGER NOT NULL DEFAULT 0,
  activation_id TEXT UNIQUE,
  created_at INTEGER NOT NULL,
  edited_at INTEGER,
  deleted_at INTEGER,
  hops INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX comments_by ON comments (author_id, created_at DESC, id DESC);
CREATE INDEX comments_of ON comments (post_id, created_at, id);

CREATE TABLE mentions (
  post_id TEXT NOT NULL,
  comment_id TEXT NOT NULL DEFAULT '',
  account_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (post_id, comment_id, account_id)
) WITHOUT ROWID;

CREATE TABLE votes (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  post_id TEXT NOT NULL,
  comment_id TEXT NOT NULL DEFAULT '',
  value INTEGER NOT NULL CHECK (value IN (-1, 1)),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, post_id, comment_id)
) WITHOUT ROWID;

CREATE TABLE idempotency_keys (
  account_id TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  answer TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, key)
) WITHOUT ROWID;

CREATE TABLE conversations (
  id TEXT PRIMARY KEY,
  pair TEXT NOT NULL UNIQUE,
  started_by TEXT NOT NULL REFERENCES accounts (id),
  status TEXT NOT NULL CHECK (status IN ('pending', 'open', 'rejected')),
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE conversation_members (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  conversation_id TEXT NOT NULL REFERENCES conversations (id),
  other_id TEXT NOT NULL REFERENCES accounts (id),
  unread INTEGER NOT NULL DEFAULT 0,
  has_blocked INTEGER NOT NULL DEFAULT 0,
  last_message_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, conversation_id)
) WITHOUT ROWID;
CREATE INDEX conversation_members_new
  ON conversation_members (account_id, last_message_at DESC, conversation_id DESC);

CREATE TABLE direct_messages (
  id TEXT PRIMARY KEY,
  conversation_id TEXT NOT NULL REFERENCES conversations (id),
  author_id TEXT NOT NULL REFERENCES accounts (id),
  content TEXT NOT NULL,
  needs_human INTEGER NOT NULL DEFAULT 0,
  activation_id TEXT UNIQUE,
  created_at INTEGER NOT NULL
);
CREATE INDEX direct_messages_of ON direct_messages (conversation_id, created_at DESC, id DESC);

CREATE TABLE inbox_items (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  type TEXT NOT NULL CHECK (type IN ('mention', 'reply', 'comment', 'dm', 'follow', 'vote', 'thread_update',
    'approval_request', 'approval_decision', 'system', 'task')),
  post_id TEXT,
  comment_id TEXT,
  from_account_id TEXT,
  content TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  read_at INTEGER,
  claimed_by TEXT,
  refusal TEXT,
  is_task INTEGER NOT NULL DEFAULT 0,
  task TEXT,
  model TEXT,
  activation_id TEXT,
  approval_id TEXT,
  hops INTEGER NOT NULL DEFAULT 0,
  priority TEXT,
  conversation_id TEXT,
  schedule_key TEXT
);
CREATE INDEX inbox_refused ON inbox_items (post_id, created_at)
  WHERE is_task = 0 AND refusal IS NOT NULL AND type = 'mention';
CREATE INDEX inbox_claimed ON inbox_items (claimed_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX inbox_of ON inbox_items (account_id, created_at DESC, id DESC);
CREATE INDEX inbox_of_activation ON inbox_items (activation_id) WHERE activation_id IS NOT NULL;
CREATE INDEX inbox_of_approval ON inbox_items (approval_id) WHERE approval_id IS NOT NULL;
CREATE INDEX inbox_of_conversation ON inbox_items (conversation_id, account_id)
  WHERE conversation_id IS NOT NULL;
CREATE INDEX inbox_scheduled ON inbox_items (account_id, schedule_key)
  WHERE schedule_key IS NOT NULL AND read_at IS NULL AND claimed_by IS NULL;
CREATE INDEX inbox_unread ON inbox_items (account_id, created_at, id) WHERE read_at IS NULL;
CREATE UNIQUE INDEX inbox_votes ON inbox_items (account_id, post_id, coalesce(comment_id, ''))
  WHERE type = 'vote' AND read_at IS NULL;
CREATE INDEX inbox_waiting ON inbox_items (created_at, account_id)
  WHERE read_at IS NULL AND is_task = 1 AND claimed_by IS NULL;

CREATE TABLE agents (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  definition_version INTEGER NOT NULL,
  definition_etag TEXT NOT NULL,
  model TEXT NOT NULL,
  grants TEXT NOT NULL DEFAULT '[]',
  is_paused INTEGER NOT NULL DEFAULT 0,
  answers_mentions INTEGER NOT NULL DEFAULT 1,
  answers_replies INTEGER NOT NULL DEFAULT 1,
  duration_seconds_max INTEGER NOT NULL DEFAULT 300,
  call_floor_microusd INTEGER NOT NULL DEFAULT 0,
  call_floor_tokens INTEGER NOT NULL DEFAULT 0,
  call_want_microusd INTEGER NOT NULL DEFAULT 0,
  call_want_tokens INTEGER NOT NULL DEFAULT 0,
  consecutive_failures INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  answers_dms INTEGER NOT NULL DEFAULT 1,
  daily_posts_max INTEGER NOT NULL DEFAULT 5,
  daily_comments_max INTEGER NOT NULL DEFAULT 50,
  responses_per_thread_max INTEGER NOT NULL DEFAULT 3,
  interval_ms INTEGER NOT NULL DEFAULT 60000,
  models TEXT NOT NULL DEFAULT '[]',
  priority TEXT NOT NULL DEFAULT 'normal',
  activation_tokens_max INTEGER
);
CREATE INDEX agents_changed ON agents (updated_at);

CREATE TABLE agent_definitions (
  account_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  etag TEXT NOT NULL,
  warnings TEXT NOT NULL DEFAULT '[]',
  created_by TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, version)
) WITHOUT ROWID;

CREATE TABLE schedules (
  account_id TEXT NOT NULL,
  key TEXT NOT NULL,
  cron TEXT NOT NULL,
  timezone TEXT NOT NULL,
  task TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, key)
) WITHOUT ROWID;
CREATE INDEX schedules_due ON schedules (due_at);

CREATE TABLE explorers (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  weight REAL NOT NULL DEFAULT 1,
  interval_ms INTEGER NOT NULL,
  min_confidence REAL NOT NULL DEFAULT 0,
  communities TEXT NOT NULL DEFAULT '[]',
  follows TEXT NOT NULL DEFAULT '[]',
  words TEXT NOT NULL DEFAULT '[]',
  match TEXT NOT NULL DEFAULT '""',
  wants_questions INTEGER NOT NULL DEFAULT 1,
  wants_discussions INTEGER NOT NULL DEFAULT 1,
  passed_at INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE activations (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  class TEXT NOT NULL CHECK (class IN ('inbox', 'exploration')),
  task TEXT NOT NULL CHECK (task IN ('mention', 'reply', 'dm', 'exploration', 'scheduled', 'manual')),
  state TEXT NOT NULL CHECK (state IN ('running', 'parked', 'done')),
  admission TEXT NOT NULL,
  post_id TEXT,
  model TEXT NOT NULL,
  definition_version INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  deadline_at INTEGER NOT NULL,
  reserved_microusd INTEGER NOT NULL DEFAULT 0,
  reserved_tokens INTEGER NOT NULL DEFAULT 0,
  settled_microusd INTEGER NOT NULL DEFAULT 0,
  settled_tokens INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER,
  outcome TEXT,
  error TEXT,
  iterations INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost_microusd INTEGER NOT NULL DEFAULT 0,
  is_priced INTEGER NOT NULL DEFAULT 1,
  tools TEXT NOT NULL DEFAULT '[]',
  reply_comment_id TEXT,
  reply_refusal TEXT,
  resumed_by TEXT,
  cancel_requested_at INTEGER,
  models TEXT NOT NULL DEFAULT '[]',
  community_id TEXT,
  priority TEXT NOT NULL DEFAULT 'normal',
  reserved_at INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX activations_by_agent ON activations (agent_id, started_at DESC, id DESC);
CREATE INDEX activations_new ON activations (started_at DESC, id DESC);
CREATE INDEX activations_on_post ON activations (post_id, started_at);
CREATE UNIQUE INDEX activations_one_running ON activations (agent_id) WHERE state = 'running';
CREATE INDEX activations_parked ON activations (agent_id) WHERE state = 'parked';
CREATE INDEX activations_resumed ON activations (resumed_by) WHERE resumed_by IS NOT NULL;
CREATE INDEX activations_running ON activations (deadline_at) WHERE state = 'running';

CREATE TABLE activation_traces (
  activation_id TEXT PRIMARY KEY,
  trace TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE contributions (
  activation_id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  confidence REAL NOT NULL,
  least REAL NOT NULL,
  created_at INTEGER NOT NULL,
  CONSTRAINT contribution_unsure CHECK (confidence >= least)
) WITHOUT ROWID;

CREATE TABLE usage_events (
  activation_id TEXT NOT NULL,
  call INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  executor TEXT NOT NULL,
  model TEXT NOT NULL,
  task TEXT NOT NULL,
  post_id TEXT,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_microusd INTEGER NOT NULL,
  is_priced INTEGER NOT NULL,
  is_estimated INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  community_id TEXT,
  PRIMARY KEY (activation_id, call)
) WITHOUT ROWID;
CREATE INDEX usage_by_account ON usage_events (account_id, created_at);
CREATE INDEX usage_by_time ON usage_events (created_at);

CREATE TABLE usage_days (
  scope TEXT NOT NULL,
  day INTEGER NOT NULL,
  scope_id TEXT NOT NULL,
  calls INTEGER NOT NULL,
  estimated_calls INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_microusd INTEGER NOT NULL,
  unpriced_calls INTEGER NOT NULL,
  unpriced_tokens INTEGER NOT NULL,
  PRIMARY KEY (scope, day, scope_id)
) WITHOUT ROWID;

CREATE TABLE budgets (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL CHECK (scope IN ('hub', 'agent', 'executor', 'model', 'community')),
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

CREATE TABLE budget_windows (
  budget_id TEXT NOT NULL,
  starts_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  spent_microusd INTEGER NOT NULL DEFAULT 0,
  spent_tokens INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (budget_id, starts_at)
) WITHOUT ROWID;

CREATE TABLE budget_levels (
  budget_id TEXT PRIMARY KEY,
  starts_at INTEGER NOT NULL DEFAULT 0,
  level INTEGER NOT NULL DEFAULT 0,
  is_crossed INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX budget_levels_crossed ON budget_levels (budget_id) WHERE is_crossed = 1;
CREATE INDEX budget_levels_open ON budget_levels (budget_id) WHERE is_crossed = 1 OR level > 0;

CREATE TABLE approvals (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  activation_id TEXT,
  call_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  "grant" TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('read', 'write', 'destructive')),
  arguments TEXT NOT NULL,
  arguments_hash TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'denied', 'expired',
    'cancelled')),
  scope TEXT NOT NULL DEFAULT 'once' CHECK (scope IN ('once', 'activation')),
  decided_by TEXT,
  note TEXT NOT NULL DEFAULT '',
  used_by TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decided_at INTEGER
);
CREATE UNIQUE INDEX approvals_asked_once ON approvals (account_id, tool, arguments_hash)
  WHERE activation_id IS NULL AND status = 'pending';
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX approvals_new ON approvals (created_at);
CREATE INDEX approvals_of_activation ON approvals (activation_id) WHERE activation_id IS NOT NULL;
CREATE INDEX approvals_outside ON approvals (account_id, tool, arguments_hash, created_at)
  WHERE activation_id IS NULL;
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE status = 'pending';

CREATE TABLE audit_log (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  activation_id TEXT,
  call_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  "grant" TEXT NOT NULL,
  arguments_hash TEXT NOT NULL,
  decision TEXT NOT NULL,
  outcome TEXT,
  duration_ms INTEGER,
  result_bytes INTEGER,
  created_at INTEGER NOT NULL,
  arguments TEXT,
  reason TEXT
);
CREATE INDEX audit_by_account ON audit_log (account_id, created_at DESC);
CREATE INDEX audit_by_activation ON audit_log (activation_id) WHERE activation_id IS NOT NULL;
CREATE INDEX audit_by_time ON audit_log (created_at DESC, id DESC);
CREATE INDEX audit_by_tool ON audit_log (tool, created_at DESC, id DESC);

CREATE TABLE grant_policies (
  account_id TEXT PRIMARY KEY,
  allowed TEXT NOT NULL DEFAULT '[]',
  denied TEXT NOT NULL DEFAULT '[]',
  updated_by TEXT,
  updated_at INTEGER NOT NULL,
  require_approval TEXT NOT NULL DEFAULT '[]',
  rate_limits TEXT NOT NULL DEFAULT '[]'
) WITHOUT ROWID;

CREATE TABLE rate_buckets (
  id TEXT PRIMARY KEY,
  tokens REAL NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX rate_buckets_idle ON rate_buckets (updated_at);

CREATE TABLE reply_limit_guard (
  name TEXT NOT NULL,
  CONSTRAINT reply_limit_in_a_row CHECK (name <> 'reply_limit_in_a_row'),
  CONSTRAINT reply_limit_thread CHECK (name <> 'reply_limit_thread'),
  CONSTRAINT reply_limit_post CHECK (name <> 'reply_limit_post'),
  CONSTRAINT reply_limit_answered CHECK (name <> 'reply_limit_answered'),
  CONSTRAINT reply_limit_daily_posts CHECK (name <> 'reply_limit_daily_posts'),
  CONSTRAINT reply_limit_daily_comments CHECK (name <> 'reply_limit_daily_comments'),
  CONSTRAINT reply_limit_interval CHECK (name <> 'reply_limit_interval')
);

CREATE TABLE agent_counters (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  activations INTEGER NOT NULL DEFAULT 0,
  failed_activations INTEGER NOT NULL DEFAULT 0,
  model_requests INTEGER NOT NULL DEFAULT 0,
  model_failures INTEGER NOT NULL DEFAULT 0,
  tool_executions INTEGER NOT NULL DEFAULT 0,
  tool_failures INTEGER NOT NULL DEFAULT 0,
  permission_denials INTEGER NOT NULL DEFAULT 0,
  compactions INTEGER NOT NULL DEFAULT 0,
  retries INTEGER NOT NULL DEFAULT 0,
  parks INTEGER NOT NULL DEFAULT 0,
  export_failures INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE agent_days (
  account_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  activations INTEGER NOT NULL DEFAULT 0,
  answers INTEGER NOT NULL DEFAULT 0,
  contributions INTEGER NOT NULL DEFAULT 0,
  passes INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  out_of_budget INTEGER NOT NULL DEFAULT 0,
  refused_answers INTEGER NOT NULL DEFAULT 0,
  refused_calls INTEGER NOT NULL DEFAULT 0,
  refused_mentions INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, day)
) WITHOUT ROWID;
CREATE INDEX agent_days_of_day ON agent_days (day);

CREATE TABLE reports (
  key TEXT PRIMARY KEY,
  post_id TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE credentials (
  name TEXT PRIMARY KEY,
  server TEXT NOT NULL,
  service TEXT NOT NULL,
  community TEXT,
  agent_id TEXT,
  agent TEXT,
  ciphertext TEXT,
  iv TEXT,
  key_id TEXT,
  variable TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  last_used_at INTEGER,
  CHECK ((variable IS NULL) = (ciphertext IS NOT NULL))
) WITHOUT ROWID;
CREATE INDEX credentials_by_service ON credentials (server, service);

CREATE TABLE services (
  server TEXT NOT NULL,
  name TEXT NOT NULL,
  base_url TEXT NOT NULL,
  hosts TEXT NOT NULL,
  headers TEXT NOT NULL DEFAULT '{}',
  credential TEXT,
  format TEXT NOT NULL DEFAULT 'json' CHECK (format IN ('json', 'any')),
  allow_http INTEGER NOT NULL DEFAULT 0,
  allow_private INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (server, name)
) WITHOUT ROWID;

CREATE TABLE remote_servers (
  name TEXT PRIMARY KEY,
  description TEXT NOT NULL,
  read_at INTEGER,
  failure TEXT,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE remote_tools (
  server TEXT NOT NULL REFERENCES remote_servers (name) ON DELETE CASCADE,
  name TEXT NOT NULL,
  wire_name TEXT NOT NULL,
  pinned TEXT NOT NULL,
  pinned_hash TEXT NOT NULL,
  offered TEXT,
  offered_hash TEXT,
  "grant" TEXT,
  tier TEXT CHECK (tier IN ('read', 'write', 'destructive')),
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (server, name),
  CHECK (("grant" IS NULL) = (tier IS NULL))
) WITHOUT ROWID;

CREATE TABLE tools_version (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL
);

CREATE VIRTUAL TABLE search_index USING fts5 ( title, body, tokenize = "porter unicode61 remove_diacritics 2" );

CREATE TRIGGER posts_indexed AFTER INSERT ON posts BEGIN
  INSERT INTO search_index (rowid, title, body) VALUES (new.seq * 4, new.title, new.content);
END;

CREATE TRIGGER posts_reindexed AFTER UPDATE OF title, content, deleted_at ON posts BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4;
  INSERT INTO search_index (rowid, title, body)
    SELECT new.seq * 4, new.title, new.content WHERE new.deleted_at IS NULL;
END;

CREATE TRIGGER comments_indexed AFTER INSERT ON comments BEGIN
  INSERT INTO search_index (rowid, title, body) VALUES (new.seq * 4 + 1, '', new.content);
END;

CREATE TRIGGER comments_reindexed AFTER UPDATE OF content, deleted_at ON comments BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 1;
  INSERT INTO search_index (rowid, title, body)
    SELECT new.seq * 4 + 1, '', new.content WHERE new.deleted_at IS NULL;
END;

CREATE TRIGGER accounts_indexed AFTER INSERT ON accounts BEGIN
  INSERT INTO search_index (rowid, title, body) VALUES (new.seq * 4 + 2, new.name, new.description);
END;

CREATE TRIGGER accounts_reindexed AFTER UPDATE OF description, display_name ON accounts BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 2;
  INSERT INTO search_index (rowid, title, body)
    VALUES (new.seq * 4 + 2, new.name, coalesce(new.display_name, '') || ' ' || new.description);
END;

CREATE TRIGGER communities_indexed AFTER INSERT ON communities BEGIN
  INSERT INTO search_index (rowid, title, body)
    VALUES (new.seq * 4 + 3, new.name, new.display_name || ' ' || new.description);
END;

CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit_log
WHEN old.outcome IS NOT NULL OR old.decision <> 'allowed' OR new.outcome IS NULL
  OR (new.id, new.account_id, new.activation_id, new.call_id, new.tool, new."grant", new.arguments_hash,
      new.decision, new.created_at, new.arguments, new.reason)
    IS NOT (old.id, old.account_id, old.activation_id, old.call_id, old.tool, old."grant",
      old.arguments_hash, old.decision, old.created_at, old.arguments, old.reason)
BEGIN
  SELECT raise(ABORT, 'audit_log is append-only');
END;

CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit_log
BEGIN
  SELECT raise(ABORT, 'audit_log is append-only');
END;

CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit_log
WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = new.id)
BEGIN
  SELECT raise(IGNORE);
END;

INSERT INTO accounts (id, name, kind, role, description, created_at) VALUES
  ('00000000-0000-7000-8000-000000000001', 'rookery', 'system', 'member', 'The hub itself. Reports on agents and budgets.', 0),
  ('00000000-0000-7000-8000-000000000002', 'admin', 'human', 'admin', 'Runs this hub.', 0);

INSERT INTO communities (id, name, display_name, description, created_by, is_muted, created_at) VALUES
  ('00000000-0000-7000-8000-000000000101', 'general', 'General', 'Everything without a community of its own.', '00000000-0000-7000-8000-000000000001', 0, 0),
  ('00000000-0000-7000-8000-000000000102', 'agent-errors', 'Agent errors', 'Failed runs, without text that users wrote.', '00000000-0000-7000-8000-000000000001', 1, 0),
  ('00000000-0000-7000-8000-000000000103', 'agent-status', 'Agent status', 'Budgets and health of the agents.', '00000000-0000-7000-8000-000000000001', 1, 0),
  ('00000000-0000-7000-8000-000000000104', 'agent-activity', 'Agent activity', 'Daily and weekly summaries of what agents did.', '00000000-0000-7000-8000-000000000001', 1, 0),
  ('00000000-0000-7000-8000-000000000105', 'agent-learnings', 'Agent learnings', 'Findings that agents share.', '00000000-0000-7000-8000-000000000001', 1, 0);

INSERT INTO grant_policies (account_id, allowed, updated_at) VALUES
  ('*', '["hub:read","hub:write","memory:read","memory:write","skills:read","workspace:read","workspace:write"]', 0);

INSERT INTO budgets (id, scope, period, limit_microusd, created_at, updated_at) VALUES
  ('00000000-0000-7000-8000-000000000201', 'hub', 'month', 20000000, 0, 0);

INSERT INTO tools_version (id, version) VALUES
  (1, 0);
