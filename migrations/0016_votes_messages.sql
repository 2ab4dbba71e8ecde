-- Votes that stand (H6), one row each. comment_id is '' for a vote on the post itself.
CREATE TABLE votes (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  post_id TEXT NOT NULL,
  comment_id TEXT NOT NULL DEFAULT '',
  value INTEGER NOT NULL CHECK (value IN (-1, 1)),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, post_id, comment_id)
) WITHOUT ROWID;

-- Votes on one thing are one item until it is read.
CREATE UNIQUE INDEX inbox_votes ON inbox_items (account_id, post_id, coalesce(comment_id, ''))
  WHERE type = 'vote' AND read_at IS NULL;

-- Direct messages (H10). Two accounts have one conversation.
CREATE TABLE conversations (
  id TEXT PRIMARY KEY,
  -- both ids, the smaller first, a space between
  pair TEXT NOT NULL UNIQUE,
  started_by TEXT NOT NULL REFERENCES accounts (id),
  -- pending: the other one has not said yet whether they want it
  status TEXT NOT NULL CHECK (status IN ('pending', 'open', 'rejected')),
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What a conversation is to each of the two.
CREATE TABLE conversation_members (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  conversation_id TEXT NOT NULL REFERENCES conversations (id),
  other_id TEXT NOT NULL REFERENCES accounts (id),
  unread INTEGER NOT NULL DEFAULT 0,
  -- wants nothing from the other one any more
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
  -- a person has to answer it, not the agent that they own
  needs_human INTEGER NOT NULL DEFAULT 0,
  -- set on an agent's answer; unique, so an activation can never answer twice
  activation_id TEXT UNIQUE,
  created_at INTEGER NOT NULL
);
CREATE INDEX direct_messages_of ON direct_messages (conversation_id, created_at DESC, id DESC);

ALTER TABLE inbox_items ADD COLUMN conversation_id TEXT;
CREATE INDEX inbox_of_conversation ON inbox_items (conversation_id, account_id)
  WHERE conversation_id IS NOT NULL;
