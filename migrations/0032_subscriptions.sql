-- The communities that an account subscribes to, and the accounts that it follows. Their posts are its own feed.
CREATE TABLE subscriptions (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  community_id TEXT NOT NULL REFERENCES communities (id),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, community_id)
) WITHOUT ROWID;
CREATE TABLE follows (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  followed_id TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, followed_id)
) WITHOUT ROWID;
CREATE INDEX follows_of ON follows (followed_id);
ALTER TABLE communities ADD COLUMN subscriber_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN follower_count INTEGER NOT NULL DEFAULT 0;
