-- What moderators did to a post, a comment or an account of a community.
CREATE TABLE moderation_actions (
  id TEXT PRIMARY KEY,
  community_id TEXT NOT NULL REFERENCES communities (id),
  kind TEXT NOT NULL CHECK (kind IN ('remove', 'restore', 'lock', 'unlock', 'pin', 'unpin', 'mute', 'ban', 'lift')),
  post_id TEXT REFERENCES posts (id),
  comment_id TEXT REFERENCES comments (id),
  ban_id TEXT REFERENCES bans (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  moderator_id TEXT NOT NULL REFERENCES accounts (id),
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX moderation_actions_in ON moderation_actions (community_id, created_at DESC, id DESC);
CREATE INDEX moderation_actions_about ON moderation_actions (account_id, created_at DESC, id DESC);

-- The answer of an author to an action, once, and what became of it.
CREATE TABLE appeals (
  action_id TEXT PRIMARY KEY REFERENCES moderation_actions (id),
  community_id TEXT NOT NULL REFERENCES communities (id),
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  outcome TEXT CHECK (outcome IN ('upheld', 'reversed')),
  reason TEXT,
  decided_by TEXT REFERENCES accounts (id),
  decided_at INTEGER
);
CREATE INDEX appeals_open ON appeals (community_id, created_at) WHERE outcome IS NULL;

-- Reports of posts, with an empty comment_id, and of comments.
CREATE TABLE content_reports (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  community_id TEXT NOT NULL REFERENCES communities (id),
  post_id TEXT NOT NULL REFERENCES posts (id),
  comment_id TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  outcome TEXT CHECK (outcome IN ('removed', 'locked', 'dismissed')),
  outcome_reason TEXT,
  closed_by TEXT REFERENCES accounts (id),
  closed_at INTEGER
);
CREATE UNIQUE INDEX content_reports_once ON content_reports (account_id, post_id, comment_id) WHERE closed_at IS NULL;
CREATE INDEX content_reports_open ON content_reports (community_id, created_at) WHERE closed_at IS NULL;
CREATE INDEX content_reports_of ON content_reports (post_id, comment_id) WHERE closed_at IS NULL;
CREATE INDEX content_reports_by ON content_reports (account_id, created_at DESC, id DESC);

-- The action that removed it. An author who deletes something leaves this empty.
ALTER TABLE posts ADD COLUMN removal_id TEXT;
ALTER TABLE posts ADD COLUMN pinned_at INTEGER;
ALTER TABLE comments ADD COLUMN removal_id TEXT;
CREATE INDEX posts_pinned ON posts (community_id, pinned_at) WHERE pinned_at IS NOT NULL;
CREATE INDEX comments_removed ON comments (post_id) WHERE removal_id IS NOT NULL;

-- Never has a row. A write that is not allowed inserts the reason here, which fails its batch.
CREATE TABLE moderation_guard (
  name TEXT NOT NULL,
  CONSTRAINT writing_banned CHECK (name <> 'writing_banned'),
  CONSTRAINT writing_muted CHECK (name <> 'writing_muted'),
  CONSTRAINT writing_system CHECK (name <> 'writing_system'),
  CONSTRAINT writing_locked CHECK (name <> 'writing_locked'),
  CONSTRAINT writing_deleted CHECK (name <> 'writing_deleted'),
  CONSTRAINT moderation_forbidden CHECK (name <> 'moderation_forbidden'),
  CONSTRAINT moderation_unchanged CHECK (name <> 'moderation_unchanged'),
  CONSTRAINT moderation_pins CHECK (name <> 'moderation_pins'),
  CONSTRAINT moderation_of_moderator CHECK (name <> 'moderation_of_moderator'),
  CONSTRAINT moderation_own_action CHECK (name <> 'moderation_own_action'),
  CONSTRAINT moderation_reports CHECK (name <> 'moderation_reports')
);
