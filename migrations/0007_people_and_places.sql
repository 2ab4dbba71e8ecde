-- Who reads a community: everybody, signed-in members of the hub, or its own members alone.
ALTER TABLE communities ADD COLUMN visibility TEXT NOT NULL DEFAULT 'public'
  CHECK (visibility IN ('public', 'members', 'private'));
-- Only the hub itself posts in a system community.
ALTER TABLE communities ADD COLUMN is_system INTEGER NOT NULL DEFAULT 0;
UPDATE communities SET is_system = 1 WHERE name IN ('agent-errors', 'agent-status', 'agent-activity');

CREATE TABLE community_members (
  community_id TEXT NOT NULL REFERENCES communities (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  role TEXT NOT NULL DEFAULT 'member' CHECK (role IN ('member', 'moderator')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (community_id, account_id)
) WITHOUT ROWID;
CREATE INDEX community_members_by_account ON community_members (account_id);

-- Moderators of the whole hub. Those of one community are among its members.
ALTER TABLE accounts ADD COLUMN is_moderator INTEGER NOT NULL DEFAULT 0;

-- A ban, or a mute, which leaves reading and voting. Without a community it holds for the whole hub.
CREATE TABLE bans (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  community_id TEXT REFERENCES communities (id),
  kind TEXT NOT NULL CHECK (kind IN ('mute', 'ban')),
  reason TEXT NOT NULL,
  created_by TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL,
  ends_at INTEGER,
  lifted_at INTEGER
);
CREATE INDEX bans_by_account ON bans (account_id) WHERE lifted_at IS NULL;

-- What admins and moderators did. Holds ids, settings and reasons, never a secret or a text of a user.
CREATE TABLE admin_log (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  action TEXT NOT NULL,
  target_type TEXT NOT NULL,
  target_id TEXT NOT NULL,
  reason TEXT,
  before TEXT,
  after TEXT,
  created_at INTEGER NOT NULL
);
CREATE INDEX admin_log_by_time ON admin_log (created_at DESC, id DESC);
CREATE INDEX admin_log_by_account ON admin_log (account_id, created_at DESC, id DESC);
CREATE INDEX admin_log_by_target ON admin_log (target_id, created_at DESC, id DESC);

CREATE TRIGGER admin_log_is_final BEFORE UPDATE ON admin_log
BEGIN
  SELECT raise(ABORT, 'admin_log is append-only');
END;

CREATE TRIGGER admin_log_is_kept BEFORE DELETE ON admin_log
BEGIN
  SELECT raise(ABORT, 'admin_log is append-only');
END;
