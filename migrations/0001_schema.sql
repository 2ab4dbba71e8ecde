-- The schema of the hub, and the rows that each hub begins with. Times are in ms since 1970.

-- Accounts

CREATE TABLE accounts (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE COLLATE NOCASE,
  kind TEXT NOT NULL CHECK (kind IN ('human', 'agent', 'system')),
  display_name TEXT,
  description TEXT NOT NULL DEFAULT '',
  metadata TEXT NOT NULL DEFAULT '{}',
  karma INTEGER NOT NULL DEFAULT 0,
  is_imported INTEGER NOT NULL DEFAULT 0,
  last_activated_at INTEGER,
  created_at INTEGER NOT NULL,
  role TEXT NOT NULL DEFAULT 'guest' CHECK (role IN ('guest', 'member', 'admin')),
  -- Moderators of the whole hub. Those of one community are among its members.
  is_moderator INTEGER NOT NULL DEFAULT 0,
  -- Who vouches for an account: the member who claimed it. Its spending counts against the budgets of both.
  owner_id TEXT REFERENCES accounts (id),
  -- A disabled account can neither read nor write. A deleted one is disabled and has lost its name.
  disabled_at INTEGER,
  deleted_at INTEGER,
  follower_count INTEGER NOT NULL DEFAULT 0,
  search_display_name TEXT,
  search_description TEXT,
  -- Its picture in media. Triggers of media_uses set it.
  avatar_id TEXT
);
CREATE INDEX accounts_quiet ON accounts (coalesce(last_activated_at, 0), id)
  WHERE kind = 'agent' AND is_imported = 0;
CREATE INDEX accounts_by_owner ON accounts (owner_id) WHERE owner_id IS NOT NULL;
-- Lists of admins and moderators read no other accounts.
CREATE INDEX accounts_admins ON accounts (name) WHERE role = 'admin';
CREATE INDEX accounts_moderators ON accounts (name) WHERE is_moderator = 1;

-- Names that accounts had. Their links lead to the account while nobody else has the name.
CREATE TABLE former_names (
  name TEXT PRIMARY KEY COLLATE NOCASE,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX former_names_by_account ON former_names (account_id);

-- Accounts that registered themselves and wait for a member to claim them.
CREATE TABLE claims (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX claims_by_expiry ON claims (expires_at);

CREATE TABLE invitations (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL CHECK (role IN ('guest', 'member', 'admin')),
  note TEXT NOT NULL DEFAULT '',
  created_by TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER,
  used_at INTEGER,
  used_by TEXT
) WITHOUT ROWID;
CREATE INDEX invitations_new ON invitations (created_at DESC, id DESC);
CREATE UNIQUE INDEX invitations_used ON invitations (used_by) WHERE used_by IS NOT NULL;
CREATE INDEX invitations_open ON invitations (created_by) WHERE used_at IS NULL AND revoked_at IS NULL;


-- Sign-in: keys and sessions of a browser are rows of api_keys

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  hash TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('key', 'session', 'link', 'service', 'feed')),
  label TEXT NOT NULL DEFAULT '',
  scopes TEXT NOT NULL DEFAULT '["read","write"]',
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  opened_by TEXT REFERENCES api_keys (id) ON DELETE CASCADE,
  -- A session ends with what opened it. A rotated admin key has another hash.
  passkey_id TEXT REFERENCES passkeys (id) ON DELETE CASCADE,
  identity_id TEXT REFERENCES identities (id) ON DELETE CASCADE,
  admin_key_hash TEXT,
  -- Whose sign-in link opened a session, and in such a session added a passkey or linked an identity.
  link_by TEXT,
  -- The key or session that created a sign-in link, with which the unused link ends. Null for the admin key.
  asked_by TEXT REFERENCES api_keys (id) ON DELETE CASCADE
);
CREATE INDEX api_keys_by_account ON api_keys (account_id);
CREATE INDEX api_keys_by_opener ON api_keys (opened_by) WHERE opened_by IS NOT NULL;
CREATE INDEX api_keys_by_passkey ON api_keys (passkey_id) WHERE passkey_id IS NOT NULL;
CREATE INDEX api_keys_by_identity ON api_keys (identity_id) WHERE identity_id IS NOT NULL;
CREATE INDEX api_keys_by_creator ON api_keys (asked_by) WHERE asked_by IS NOT NULL;

-- How people sign in: with a passkey, or as an identity that another service vouches for.
CREATE TABLE passkeys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  credential_id TEXT NOT NULL UNIQUE,
  public_key TEXT NOT NULL,
  counter INTEGER NOT NULL,
  transports TEXT NOT NULL DEFAULT '[]',
  rp_id TEXT NOT NULL,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  link_by TEXT
);
CREATE INDEX passkeys_by_account ON passkeys (account_id);

CREATE TABLE identities (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  link_by TEXT
);
CREATE UNIQUE INDEX identities_by_subject ON identities (issuer, subject);
CREATE INDEX identities_by_account ON identities (account_id);

-- A challenge or a state that was given out. Its row is deleted by the first answer.
CREATE TABLE sign_in_attempts (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('add_passkey', 'use_passkey', 'identity')),
  account_id TEXT REFERENCES accounts (id),
  data TEXT NOT NULL DEFAULT '{}',
  expires_at INTEGER NOT NULL,
  -- The session that began an attempt to add a way to sign in, with which the attempt ends. Null to sign in.
  begun_by TEXT REFERENCES api_keys (id) ON DELETE CASCADE
);
CREATE INDEX sign_in_attempts_by_expiry ON sign_in_attempts (expires_at);
CREATE INDEX sign_in_attempts_by_beginner ON sign_in_attempts (begun_by) WHERE begun_by IS NOT NULL;

-- Never has a row. A write whose sender may not make it any more, or that goes over a limit, inserts the reason
-- here, which fails its batch.
CREATE TABLE access_guard (
  name TEXT NOT NULL,
  CONSTRAINT access_ended CHECK (name <> 'access_ended'),
  CONSTRAINT access_scope CHECK (name <> 'access_scope'),
  CONSTRAINT access_role CHECK (name <> 'access_role'),
  CONSTRAINT access_limited CHECK (name <> 'access_limited'),
  CONSTRAINT access_passkeys CHECK (name <> 'access_passkeys'),
  CONSTRAINT access_identities CHECK (name <> 'access_identities'),
  CONSTRAINT access_invitations CHECK (name <> 'access_invitations'),
  CONSTRAINT access_service_keys CHECK (name <> 'access_service_keys'),
  CONSTRAINT access_rules CHECK (name <> 'access_rules'),
  CONSTRAINT access_media CHECK (name <> 'access_media'),
  CONSTRAINT access_trials CHECK (name <> 'access_trials'),
  CONSTRAINT access_set CHECK (name <> 'access_set'),
  CONSTRAINT access_held CHECK (name <> 'access_held')
);


-- Communities

CREATE TABLE communities (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE COLLATE NOCASE,
  display_name TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  created_by TEXT REFERENCES accounts (id),
  is_muted INTEGER NOT NULL DEFAULT 0,
  post_count INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  -- Who reads a community: everybody, signed-in members of the hub, or its own members alone.
  visibility TEXT NOT NULL DEFAULT 'public'
    CHECK (visibility IN ('public', 'members', 'private')),
  -- Only the hub itself posts in a system community.
  is_system INTEGER NOT NULL DEFAULT 0,
  -- Whether agents follow threads there without being named.
  follows_threads INTEGER NOT NULL DEFAULT 1,
  -- Limits between agents that a community sets. Without a value those of the hub hold, which are in the row reply_limits of settings.
  hop_limit INTEGER CHECK (hop_limit >= 0),
  reply_limit INTEGER CHECK (reply_limit >= 0),
  subscriber_count INTEGER NOT NULL DEFAULT 0,
  search_display_name TEXT,
  search_description TEXT,
  -- Its picture in media. Triggers of media_uses set it.
  picture_id TEXT
);
-- Communities that not everybody reads. Queries over posts look here, so a hub without one reads no row.
CREATE INDEX communities_not_public ON communities (id, visibility) WHERE visibility <> 'public';

CREATE TABLE community_members (
  community_id TEXT NOT NULL REFERENCES communities (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  role TEXT NOT NULL DEFAULT 'member' CHECK (role IN ('member', 'moderator')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (community_id, account_id)
) WITHOUT ROWID;
CREATE INDEX community_members_by_account ON community_members (account_id);

-- What decided until a change who reads: earlier visibilities of communities, earlier roles of accounts, and with an
-- account_id its memberships of a community that ended. So a hub can be read as it was.
CREATE TABLE past_access (
  seq INTEGER PRIMARY KEY,
  owner_id TEXT NOT NULL,
  account_id TEXT NOT NULL DEFAULT '',
  value TEXT NOT NULL CHECK (value IN ('public', 'members', 'private', 'guest', 'member', 'admin', 'moderator')),
  -- Of a membership: when it began.
  since INTEGER NOT NULL DEFAULT 0,
  until INTEGER NOT NULL
);
CREATE INDEX past_access_of ON past_access (owner_id, account_id, until);
CREATE INDEX past_access_closed ON past_access (owner_id) WHERE value IN ('members', 'private');
CREATE INDEX past_access_by ON past_access (account_id) WHERE account_id <> '';

-- The communities that an account subscribes to, and the accounts that it follows. Their posts are its own feed.
CREATE TABLE subscriptions (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  community_id TEXT NOT NULL REFERENCES communities (id),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, community_id)
) WITHOUT ROWID;

-- Admins who opened what is private to a community or an account, and until when it holds.
CREATE TABLE admin_openings (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  owner_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
);
CREATE INDEX admin_openings_of ON admin_openings (owner_id, created_at DESC, id DESC);


-- Posts, comments, votes

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
  hops INTEGER NOT NULL DEFAULT 0,
  -- Texts are rendered when they are written. Version 0 is not rendered yet, and pages show its plain text.
  html TEXT,
  html_version INTEGER NOT NULL DEFAULT 0,
  -- What a run wrote after it had read text by a guest or from outside. A run that reads it counts as having read such text.
  is_untrusted INTEGER NOT NULL DEFAULT 0,
  -- A trigger of its author wrote it, from what another service sent.
  is_triggered INTEGER NOT NULL DEFAULT 0,
  -- The action that removed it. An author who deletes something leaves this empty.
  removal_id TEXT,
  pinned_at INTEGER,
  -- What the search index reads in place of a text that its tokenizer does not divide into words, or not fold as Unicode
  -- does: null for most texts. See src/shared/search-text.ts.
  search_title TEXT,
  search_content TEXT
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
CREATE INDEX posts_pinned ON posts (community_id, pinned_at) WHERE pinned_at IS NOT NULL;
-- Posts and comments that were deleted or removed: what refers to one shows and counts nothing of it.
CREATE INDEX posts_deleted ON posts (id) WHERE deleted_at IS NOT NULL;

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
  hops INTEGER NOT NULL DEFAULT 0,
  html TEXT,
  html_version INTEGER NOT NULL DEFAULT 0,
  is_untrusted INTEGER NOT NULL DEFAULT 0,
  removal_id TEXT,
  search_content TEXT
);
CREATE INDEX comments_by ON comments (author_id, created_at DESC, id DESC);
CREATE INDEX comments_of ON comments (post_id, created_at, id);
CREATE INDEX comments_removed ON comments (post_id) WHERE removal_id IS NOT NULL;
CREATE INDEX comments_deleted ON comments (id) WHERE deleted_at IS NOT NULL;

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

-- Up to where somebody has read a thread: when the newest reply was written that a page has shown to the account.
CREATE TABLE visits (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  post_id TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, post_id)
) WITHOUT ROWID;

-- What posts and comments said before an edit, from written_at until replaced_at. A post has no comment_id. Deleting
-- or removing a text hides these, too.
CREATE TABLE text_versions (
  seq INTEGER PRIMARY KEY,
  post_id TEXT NOT NULL,
  comment_id TEXT NOT NULL DEFAULT '',
  title TEXT NOT NULL DEFAULT '',
  content TEXT NOT NULL,
  url TEXT,
  written_at INTEGER NOT NULL,
  replaced_at INTEGER NOT NULL
);
CREATE INDEX text_versions_of ON text_versions (post_id, comment_id);

-- What imports have made: the key of a record within its source, and the row of this hub that it became. Imports
-- find again what stands here, and nothing else.
CREATE TABLE imported_records (
  source TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (source, kind, key)
) WITHOUT ROWID;


-- Messages

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
  created_at INTEGER NOT NULL,
  html TEXT,
  html_version INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX direct_messages_of ON direct_messages (conversation_id, created_at DESC, id DESC);


-- Images. The bytes are in object storage, by the id. One that no text shows is deleted after a while: first
-- deleted_at is set, then the bytes go, then the row.

CREATE TABLE media (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  type TEXT NOT NULL CHECK (type IN ('image/png', 'image/jpeg', 'image/gif', 'image/webp')),
  bytes INTEGER NOT NULL,
  width INTEGER NOT NULL,
  height INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  is_used INTEGER NOT NULL DEFAULT 0,
  deleted_at INTEGER
) WITHOUT ROWID;
CREATE INDEX media_of ON media (account_id, bytes);
CREATE INDEX media_unused ON media (created_at) WHERE is_used = 0;
CREATE INDEX media_deleted ON media (deleted_at) WHERE deleted_at IS NOT NULL;

-- The texts that show an image of their author, and the accounts and communities whose picture it is: whoever reads one
-- of them sees it. An image has its reduced form, which models see in its place.
CREATE TABLE media_uses (
  text_id TEXT NOT NULL,
  media_id TEXT NOT NULL REFERENCES media (id),
  kind TEXT NOT NULL CHECK (kind IN ('post', 'comment', 'message', 'account', 'community', 'image')),
  PRIMARY KEY (text_id, media_id)
) WITHOUT ROWID;
CREATE INDEX media_uses_of ON media_uses (media_id);

-- Restores write the same rows, so the triggers set what holds and count nothing.
CREATE TRIGGER media_is_used AFTER INSERT ON media_uses BEGIN
  UPDATE media SET is_used = 1 WHERE id = new.media_id;
END;
CREATE TRIGGER media_is_unused AFTER DELETE ON media_uses BEGIN
  UPDATE media SET is_used = EXISTS (SELECT 1 FROM media_uses WHERE media_id = old.media_id)
  WHERE id = old.media_id;
END;
CREATE TRIGGER media_is_picture AFTER INSERT ON media_uses WHEN new.kind IN ('account', 'community') BEGIN
  UPDATE accounts SET avatar_id = new.media_id WHERE id = new.text_id;
  UPDATE communities SET picture_id = new.media_id WHERE id = new.text_id;
END;
CREATE TRIGGER media_is_no_picture AFTER DELETE ON media_uses WHEN old.kind IN ('account', 'community') BEGIN
  UPDATE accounts SET avatar_id = NULL WHERE id = old.text_id AND avatar_id = old.media_id;
  UPDATE communities SET picture_id = NULL WHERE id = old.text_id AND picture_id = old.media_id;
END;


-- Inbox: mentions, replies, decisions and tasks of agents, and what is pushed to devices

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
  schedule_key TEXT,
  -- Who saved the schedule that a task is of.
  saved_by TEXT,
  -- Accounts that an inbox item or a run acts for, as a JSON list of ids. An empty list is the hub itself.
  -- Null in an inbox item: the account that it comes from.
  requesters TEXT,
  is_untrusted INTEGER NOT NULL DEFAULT 0,
  -- What caused an item that names nobody, and when a run took an item that arrived while it ran.
  cause TEXT CHECK (cause IN ('follow_up', 'moderation')),
  joined_at INTEGER,
  -- The comment whose stop withdrew it while it waited.
  withdrawn_by TEXT,
  -- What the owner of a trigger asks in it: the text of the item, or of its post, is data of another service then.
  request TEXT
);
CREATE INDEX inbox_withdrawn ON inbox_items (post_id) WHERE withdrawn_by IS NOT NULL;
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

CREATE TABLE follows (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  followed_id TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, followed_id)
) WITHOUT ROWID;
CREATE INDEX follows_of ON follows (followed_id);

-- Threads that an agent follows no longer, until somebody mentions it there again.
CREATE TABLE ended_followings (
  post_id TEXT NOT NULL REFERENCES posts (id),
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  ended_at INTEGER NOT NULL,
  PRIMARY KEY (post_id, agent_id)
);

-- Browsers that get push messages. A device belongs to the session that added it and goes with it.
CREATE TABLE push_devices (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  session_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  endpoint TEXT NOT NULL UNIQUE,
  p256dh TEXT NOT NULL,
  auth TEXT NOT NULL,
  server_key TEXT NOT NULL,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_sent_at INTEGER,
  failure TEXT
);
CREATE INDEX push_devices_by_account ON push_devices (account_id);
CREATE INDEX push_devices_by_session ON push_devices (session_id);

-- How an account wants to be notified. Without a row the defaults hold.
CREATE TABLE notification_settings (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  -- By kind of notification the list of its channels, as JSON.
  choices TEXT NOT NULL,
  quiet_from INTEGER,
  quiet_to INTEGER,
  timezone TEXT NOT NULL,
  -- Hour of the digest on the clocks of its reader, when the next one is due, and up to when the last one reached.
  digest_hour INTEGER NOT NULL CHECK (digest_hour BETWEEN 0 AND 23),
  digest_at INTEGER,
  digested_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX notification_settings_by_digest ON notification_settings (digest_at) WHERE digest_at IS NOT NULL;

-- Messages to send. A row is written with the inbox item and deleted once the push service has taken it.
CREATE TABLE push_queue (
  device_id TEXT NOT NULL REFERENCES push_devices (id) ON DELETE CASCADE,
  item_id TEXT NOT NULL REFERENCES inbox_items (id) ON DELETE CASCADE,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  claim TEXT,
  PRIMARY KEY (device_id, item_id)
) WITHOUT ROWID;
CREATE INDEX push_queue_by_due ON push_queue (due_at);
CREATE INDEX push_queue_by_claim ON push_queue (claim) WHERE claim IS NOT NULL;
CREATE INDEX push_queue_by_item ON push_queue (item_id);

-- Addresses of other services that are sent what happens, on the whole hub or in a community.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  community_id TEXT REFERENCES communities (id),
  -- What is shown of its URL, whose path can be a credential. URL and secrets are in sealed, which src/mcp-servers encrypts.
  url TEXT NOT NULL,
  host TEXT NOT NULL,
  sealed TEXT NOT NULL,
  format TEXT NOT NULL CHECK (format IN ('json', 'slack', 'discord')),
  events TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- When nothing is sent to it any more, and why, unless its owner has chosen that.
  disabled_at INTEGER,
  reason TEXT,
  -- Failed attempts since the last successful one, and when the first of them was. Nothing is sent before retry_at.
  failures INTEGER NOT NULL DEFAULT 0,
  failing_since INTEGER,
  retry_at INTEGER NOT NULL DEFAULT 0,
  claim TEXT
);
CREATE INDEX webhooks_by_account ON webhooks (account_id, created_at);
CREATE INDEX webhooks_by_community ON webhooks (community_id, created_at) WHERE community_id IS NOT NULL;
CREATE INDEX webhooks_enabled ON webhooks (coalesce(community_id, '')) WHERE disabled_at IS NULL;

-- What is sent outside, written in the batch of what it is about. It holds ids, and the text is read when it is sent.
CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('webhook', 'mail')),
  -- Id of the webhook, of the account or of the invitation.
  target_id TEXT NOT NULL,
  event TEXT NOT NULL,
  -- Names what happened: nothing is queued twice for a target.
  "key" TEXT NOT NULL,
  community_id TEXT,
  post_id TEXT,
  comment_id TEXT,
  subject_id TEXT,
  data TEXT,
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sent', 'failed', 'withheld')),
  attempts INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  tried_at INTEGER,
  answer TEXT,
  UNIQUE (kind, target_id, "key")
);
CREATE INDEX outbox_due ON outbox (kind, target_id, next_at, seq) WHERE state = 'pending';
CREATE INDEX outbox_mail ON outbox (next_at, seq) WHERE kind = 'mail' AND state = 'pending';
CREATE INDEX outbox_of ON outbox (kind, target_id, seq);
CREATE INDEX outbox_by_time ON outbox (created_at);

-- The mail address of an account. Until its link is opened it is sent nothing but that link.
CREATE TABLE mail_addresses (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  address TEXT NOT NULL,
  -- In lower case: one account has it, once it is confirmed.
  normalized TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  confirmed_at INTEGER,
  -- Hash of the token that confirms it.
  token_hash TEXT NOT NULL,
  -- Messages in a row that a mail server refused for good. A stopped address is sent nothing.
  failures INTEGER NOT NULL DEFAULT 0,
  stopped_at INTEGER,
  reason TEXT
);
CREATE UNIQUE INDEX mail_addresses_confirmed ON mail_addresses (normalized) WHERE confirmed_at IS NOT NULL;
CREATE INDEX mail_addresses_by_name ON mail_addresses (normalized, created_at);
CREATE INDEX mail_addresses_stopped ON mail_addresses (stopped_at) WHERE stopped_at IS NOT NULL;

-- The mail server as its senders found it: one row. Nothing is sent before retry_at. While a sender works, another one takes over then.
CREATE TABLE mail_server (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  claim TEXT,
  retry_at INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  failing_since INTEGER,
  -- How the last failure ended, as a sentence.
  answer TEXT
);


-- Moderation

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
CREATE INDEX moderation_actions_on ON moderation_actions (post_id, created_at) WHERE post_id IS NOT NULL;
CREATE INDEX moderation_actions_about ON moderation_actions (account_id, created_at DESC, id DESC);

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

-- The answer of an account to a ban or a mute of the whole hub, once, and what became of it.
CREATE TABLE ban_appeals (
  ban_id TEXT PRIMARY KEY REFERENCES bans (id),
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  outcome TEXT CHECK (outcome IN ('upheld', 'reversed')),
  reason TEXT,
  decided_by TEXT REFERENCES accounts (id),
  decided_at INTEGER
);
CREATE INDEX ban_appeals_open ON ban_appeals (created_at) WHERE outcome IS NULL;

-- When a person lifted the limits between agents in a thread: comments of agents are counted after the newest one.
CREATE TABLE lifted_limits (
  post_id TEXT NOT NULL REFERENCES posts (id),
  lifted_at INTEGER NOT NULL,
  lifted_by TEXT NOT NULL REFERENCES accounts (id),
  PRIMARY KEY (post_id, lifted_at)
);

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


-- Agents

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
  activation_tokens_max INTEGER,
  follows_threads INTEGER NOT NULL DEFAULT 1,
  -- Whether runs of the agent read those providers. A hub without any reads no row for them.
  reads_providers INTEGER NOT NULL DEFAULT 0,
  -- The name of each agent, so that lists of agents by name read one page.
  name TEXT NOT NULL DEFAULT '' COLLATE NOCASE,
  -- The trial that a change of the active definition has to pass. Null: none.
  gate TEXT
);
CREATE INDEX agents_changed ON agents (updated_at);
CREATE INDEX agents_by_name ON agents (name);
CREATE INDEX agents_paused ON agents (account_id) WHERE is_paused = 1;

CREATE TABLE agent_definitions (
  account_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  etag TEXT NOT NULL,
  warnings TEXT NOT NULL DEFAULT '[]',
  created_by TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, version)
) WITHOUT ROWID;
-- Counts the versions that a member has saved within a day.
CREATE INDEX agent_definitions_by_author ON agent_definitions (created_by, created_at);

-- Providers of models that admins set up on a page. Keys are in credentials, base URLs in services, both of the server models.
CREATE TABLE model_providers (
  provider TEXT PRIMARY KEY,
  default_model TEXT,
  listed TEXT NOT NULL DEFAULT '[]',
  listed_at INTEGER,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  -- Prices that admins set on a page, by name of the model: micro-dollars per million tokens.
  prices TEXT NOT NULL DEFAULT '{}',
  -- What the last test said of the key: which key, and why agents do not use it. NULL or another key: it was not tested.
  key_test TEXT
) WITHOUT ROWID;

-- Keys of runners, the processes that run coding agents. They are no keys of accounts: nothing else looks them up.
CREATE TABLE runner_keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  hash TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
);
CREATE INDEX runner_keys_by_account ON runner_keys (account_id);

-- Reviews that were taken, so that none is taken twice however often it is sent.
CREATE TABLE received_reviews (
  trigger_id TEXT NOT NULL,
  review_key TEXT NOT NULL,
  comment_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- What was said in a review, as JSON, while it waits for the rest of the review. Parts with the same comment_id become one comment.
  part TEXT,
  PRIMARY KEY (trigger_id, review_key)
) WITHOUT ROWID;
CREATE INDEX received_reviews_held ON received_reviews (comment_id) WHERE part IS NOT NULL;

-- Addresses at which other services post in a community or give an agent a task, for their account. One for reviews has no
-- template: a review of a pull request continues the thread from which the agent pushed its branch.
CREATE TABLE triggers (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  community_id TEXT REFERENCES communities (id),
  agent_id TEXT REFERENCES accounts (id),
  template TEXT NOT NULL,
  takes_reviews INTEGER NOT NULL DEFAULT 0,
  verify TEXT NOT NULL CHECK (verify IN ('standard', 'github', 'bearer')),
  per_hour_max INTEGER NOT NULL,
  -- Which secret it has. Secrets are derived from the vault key. Those before are accepted until old_secrets_until,
  -- a JSON list, the newest first.
  secret_version INTEGER NOT NULL DEFAULT 1,
  old_secrets_until TEXT NOT NULL DEFAULT '[]',
  created_at INTEGER NOT NULL,
  CHECK ((community_id IS NULL) <> (agent_id IS NULL))
);
CREATE INDEX triggers_by_account ON triggers (account_id, created_at);
CREATE INDEX triggers_by_community ON triggers (community_id, created_at) WHERE community_id IS NOT NULL;
CREATE INDEX triggers_by_agent ON triggers (agent_id) WHERE agent_id IS NOT NULL;

-- What was sent to triggers, without its body. The keys say what is the same delivery: no two rows of a trigger have the same.
CREATE TABLE trigger_deliveries (
  id TEXT PRIMARY KEY,
  trigger_id TEXT NOT NULL,
  delivery_key TEXT,
  body_key TEXT,
  event TEXT,
  at INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'ping', 'ignored', 'signature', 'late', 'replayed', 'limit', 'owner', 'body', 'refused')),
  note TEXT,
  post_id TEXT,
  UNIQUE (delivery_key, trigger_id),
  UNIQUE (body_key, trigger_id)
) WITHOUT ROWID;
CREATE INDEX trigger_deliveries_of ON trigger_deliveries (trigger_id, at, id);
CREATE INDEX trigger_deliveries_old ON trigger_deliveries (at);

-- Branches that runs of coding agents pushed, each with the thread that it belongs to. The newest push counts.
CREATE TABLE pushed_branches (
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  repository TEXT NOT NULL,
  branch TEXT NOT NULL,
  post_id TEXT NOT NULL REFERENCES posts (id),
  pushed_at INTEGER NOT NULL,
  pull_number INTEGER,
  PRIMARY KEY (agent_id, repository, branch)
) WITHOUT ROWID;

CREATE TRIGGER agents_named AFTER INSERT ON agents BEGIN
  UPDATE agents SET name = coalesce((SELECT name FROM accounts WHERE id = new.account_id), '') WHERE account_id = new.account_id;
END;

CREATE TRIGGER agents_renamed AFTER UPDATE OF name ON accounts BEGIN
  UPDATE agents SET name = new.name WHERE account_id = new.id;
END;


-- Scheduling

CREATE TABLE schedules (
  account_id TEXT NOT NULL,
  key TEXT NOT NULL,
  cron TEXT NOT NULL,
  timezone TEXT NOT NULL,
  task TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  saved_by TEXT,
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
  updated_at INTEGER NOT NULL,
  -- When an agent last explored: its interval counts from there.
  explored_at INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE contributions (
  activation_id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  confidence REAL NOT NULL,
  least REAL NOT NULL,
  created_at INTEGER NOT NULL,
  CONSTRAINT contribution_unsure CHECK (confidence >= least)
) WITHOUT ROWID;

CREATE TABLE provider_outages (
  address TEXT PRIMARY KEY,
  started_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL
);

CREATE TABLE outage_waits (
  agent_id TEXT PRIMARY KEY,
  activation_id TEXT NOT NULL,
  address TEXT NOT NULL,
  since INTEGER NOT NULL
);
CREATE INDEX outage_waits_by_address ON outage_waits (address, since, agent_id);
CREATE INDEX outage_waits_by_activation ON outage_waits (activation_id);

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
  export_failures INTEGER NOT NULL DEFAULT 0,
  -- Tool calls that could not run: unknown tool, invalid arguments, too many calls in a run.
  tool_refusals INTEGER NOT NULL DEFAULT 0
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


-- Runs

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
  reserved_at INTEGER NOT NULL DEFAULT 0,
  requesters TEXT NOT NULL DEFAULT '[]',
  -- Whether a run acts for a guest, so that the budget of the guests pays for it.
  is_for_guest INTEGER NOT NULL DEFAULT 0,
  -- Who pays for a run: its requesters and their owners, each with the role and the part at the time of the claim.
  payers TEXT NOT NULL DEFAULT '{}',
  -- Grants that the definition requests and that the policy did not grant to the run.
  not_granted TEXT NOT NULL DEFAULT '[]',
  -- Whether a run used the account that its requester connected: then its trace is private to the requester.
  uses_own_account INTEGER NOT NULL DEFAULT 0,
  -- The coding agent that worked on a run. Null for a run of the hub itself.
  program TEXT,
  -- The attempt of a run that a runner makes, and whether it has ended. Tokens of other attempts open nothing.
  run_attempt INTEGER,
  is_run_attempt_ended INTEGER NOT NULL DEFAULT 0
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

-- Runs that run again, with their definition and with a draft of another. Others see nothing of them.
CREATE TABLE replays (
  id TEXT PRIMARY KEY,
  activation_id TEXT NOT NULL REFERENCES activations (id),
  -- Who asked for it, and pays.
  requested_by TEXT NOT NULL REFERENCES accounts (id),
  -- Files of the draft by path. Null for the definition of the run.
  draft TEXT,
  -- The version that the baseline runs as it would today. Null for that of the run, as it was then.
  baseline_version INTEGER,
  created_at INTEGER NOT NULL,
  cancelled_at INTEGER
);
CREATE INDEX replays_of_run ON replays (activation_id, created_at DESC);
CREATE INDEX replays_by_account ON replays (requested_by);

-- What each lane of a replay runs, what it has reserved, and how it ended. Its record is in activation_traces under its id.
-- It has the columns of an activation that decide who pays, and is none: it holds no slot and keeps no agent from running.
CREATE TABLE replay_lanes (
  id TEXT PRIMARY KEY,
  -- Null once it was deleted: who paid for the calls of its lanes stays.
  replay_id TEXT REFERENCES replays (id),
  -- The run.
  activation_id TEXT NOT NULL,
  lane TEXT NOT NULL CHECK (lane IN ('baseline', 'candidate', 'judge')),
  sample INTEGER NOT NULL,
  -- Of a baseline: a hash of what decides what it does, apart from chance. Null before its first call.
  inputs TEXT,
  -- The lane of an earlier replay whose result it has. Null for one that ran itself.
  reused_from TEXT,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'cancelled', 'failed')),
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  community_id TEXT,
  requesters TEXT NOT NULL,
  payers TEXT NOT NULL DEFAULT '{}',
  is_for_guest INTEGER NOT NULL DEFAULT 0,
  models TEXT NOT NULL DEFAULT '[]',
  grants TEXT NOT NULL,
  duration_ms_max INTEGER NOT NULL,
  tokens_max INTEGER NOT NULL,
  cost_max_microusd INTEGER NOT NULL,
  reserved_microusd INTEGER NOT NULL DEFAULT 0,
  reserved_tokens INTEGER NOT NULL DEFAULT 0,
  reserved_at INTEGER NOT NULL DEFAULT 0,
  -- How many calls were charged when it last reserved.
  reserved_calls INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER,
  deadline_at INTEGER,
  finished_at INTEGER,
  outcome TEXT,
  error TEXT,
  answer TEXT NOT NULL DEFAULT '',
  steps INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0,
  cost_microusd INTEGER NOT NULL DEFAULT 0,
  duration_ms INTEGER NOT NULL DEFAULT 0,
  -- Why it does not show what would have happened. Null when it does.
  incomplete TEXT,
  notes TEXT NOT NULL DEFAULT '[]',
  calls TEXT NOT NULL DEFAULT '[]',
  UNIQUE (replay_id, lane, sample)
);
CREATE INDEX replay_lanes_queued ON replay_lanes (id) WHERE state = 'queued';
CREATE INDEX replay_lanes_running ON replay_lanes (deadline_at) WHERE state = 'running';

-- Sets of recorded runs on which changes of an agent are tried.
CREATE TABLE case_sets (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  -- The name without regard to case and white space.
  name_key TEXT NOT NULL,
  created_by TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL,
  UNIQUE (agent_id, name_key)
);
CREATE INDEX case_sets_by_account ON case_sets (created_by);

-- Runs of a set with what a good answer to each must do.
CREATE TABLE cases (
  id TEXT PRIMARY KEY,
  set_id TEXT NOT NULL REFERENCES case_sets (id),
  activation_id TEXT NOT NULL REFERENCES activations (id),
  checks TEXT NOT NULL DEFAULT '[]',
  -- What would have been right.
  note TEXT NOT NULL DEFAULT '',
  created_by TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL,
  UNIQUE (set_id, activation_id)
);
CREATE INDEX cases_of_run ON cases (activation_id);
CREATE INDEX cases_by_account ON cases (created_by);

-- Sets that are replayed with the active definition of their agent and with a draft of another.
CREATE TABLE trials (
  id TEXT PRIMARY KEY,
  set_id TEXT NOT NULL REFERENCES case_sets (id),
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  -- Who asked for it, and pays.
  requested_by TEXT NOT NULL REFERENCES accounts (id),
  -- Files of the draft by path.
  draft TEXT NOT NULL,
  -- The version that was active when it began.
  baseline_version INTEGER NOT NULL,
  -- How often each case runs with either definition.
  repeats INTEGER NOT NULL,
  -- provider/model that compares answers. Null when people do.
  judge TEXT,
  -- What each kind of lane may use at most.
  limits TEXT NOT NULL,
  cost_max_microusd INTEGER NOT NULL,
  -- Runs of the agent in the 30 days before.
  runs_month INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  cancelled_at INTEGER,
  -- Null while cases are queued or run.
  finished_at INTEGER
);
CREATE INDEX trials_of_set ON trials (set_id, created_at DESC);
CREATE INDEX trials_by_account ON trials (requested_by);
CREATE INDEX trials_open ON trials (id) WHERE finished_at IS NULL;

-- Cases of a trial, as the set had them when it began.
CREATE TABLE trial_cases (
  id TEXT PRIMARY KEY,
  trial_id TEXT NOT NULL REFERENCES trials (id),
  activation_id TEXT NOT NULL REFERENCES activations (id),
  position INTEGER NOT NULL,
  checks TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  -- What the run was asked. Empty until it starts.
  question TEXT NOT NULL DEFAULT '',
  -- Null until it starts.
  replay_id TEXT REFERENCES replays (id),
  -- skipped: it could not run, for the reason. Of one that is done the reason says what kept it from being compared.
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'judging', 'done', 'skipped', 'cancelled')),
  reason TEXT,
  -- What the checks found of each sample of either definition.
  results TEXT,
  -- What else was found when its lanes had ended.
  findings TEXT,
  checks_verdict TEXT CHECK (checks_verdict IN ('better', 'worse', 'same', 'cannot_tell')),
  judge_verdict TEXT CHECK (judge_verdict IN ('better', 'worse', 'same', 'cannot_tell')),
  people_verdict TEXT CHECK (people_verdict IN ('better', 'worse', 'same', 'cannot_tell')),
  -- Who compared the answers last.
  judged_by TEXT REFERENCES accounts (id),
  judged_at INTEGER,
  UNIQUE (trial_id, activation_id)
);
CREATE INDEX trial_cases_of_run ON trial_cases (activation_id);
CREATE INDEX trial_cases_of_replay ON trial_cases (replay_id);
CREATE INDEX trial_cases_by_account ON trial_cases (judged_by);

-- Saved definitions that become active once a trial has passed, and what became of them. Their files are in R2 under the etag.
CREATE TABLE held_definitions (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  etag TEXT NOT NULL,
  -- The active version when it was saved.
  base_version INTEGER NOT NULL,
  -- The earlier version whose files it has, of one that restores it.
  restored_from INTEGER,
  -- Grants to add to the policy of the agent with it.
  allow_grants TEXT NOT NULL DEFAULT '[]',
  saved_by TEXT NOT NULL REFERENCES accounts (id),
  saved_at INTEGER NOT NULL,
  -- What it has to pass.
  gate TEXT NOT NULL,
  -- Null when none could start.
  trial_id TEXT,
  -- Why it is not applied. Null while its trial decides.
  problem TEXT,
  -- applied, discarded or replaced. Null while it waits.
  outcome TEXT,
  -- Null: its trial decided.
  decided_by TEXT REFERENCES accounts (id),
  decided_at INTEGER,
  -- The version that it became.
  version INTEGER
) WITHOUT ROWID;
-- One change of an agent waits at a time.
CREATE UNIQUE INDEX held_definitions_waiting ON held_definitions (agent_id) WHERE outcome IS NULL;
CREATE INDEX held_definitions_of_agent ON held_definitions (agent_id, id);
CREATE INDEX held_definitions_by_account ON held_definitions (saved_by);
CREATE INDEX held_definitions_by_decider ON held_definitions (decided_by);

-- What people think of the answer of a run: one row per run and account. A value is 1 or -1.
CREATE TABLE run_feedback (
  activation_id TEXT NOT NULL REFERENCES activations (id),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  value INTEGER NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (activation_id, account_id)
) WITHOUT ROWID;
CREATE INDEX run_feedback_by_agent ON run_feedback (agent_id, updated_at DESC);
CREATE INDEX run_feedback_by_account ON run_feedback (account_id);

-- Filters of the list of runs that an account keeps under a name. The query is that of the page.
CREATE TABLE run_views (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL COLLATE NOCASE,
  query TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, name)
) WITHOUT ROWID;


-- Budgets: amounts are in millionths of a dollar

-- A budget of the scopes member and guest holds for each of them.
CREATE TABLE budgets (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL CHECK (scope IN ('hub', 'agent', 'provider', 'model', 'community', 'requester', 'guests',
    'replay', 'role:member', 'role:guest')),
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

-- What each account has spent of such a budget in one of its windows. An account without a row has spent nothing.
CREATE TABLE budget_account_windows (
  budget_id TEXT NOT NULL,
  starts_at INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  spent_microusd INTEGER NOT NULL DEFAULT 0,
  spent_tokens INTEGER NOT NULL DEFAULT 0,
  needed_microusd INTEGER,
  needed_tokens INTEGER,
  alert TEXT NOT NULL DEFAULT 'none' CHECK (alert IN ('none', 'due', 'sent')),
  PRIMARY KEY (budget_id, starts_at, account_id)
) WITHOUT ROWID;
CREATE INDEX budget_account_windows_due ON budget_account_windows (budget_id) WHERE alert = 'due';

CREATE TABLE budget_refusals (
  budget_id TEXT PRIMARY KEY,
  starts_at INTEGER NOT NULL,
  needed_microusd INTEGER NOT NULL,
  needed_tokens INTEGER NOT NULL,
  refused_at INTEGER NOT NULL
);

CREATE TABLE usage_events (
  activation_id TEXT NOT NULL,
  call INTEGER NOT NULL,
  account_id TEXT NOT NULL,
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

-- What agents that run elsewhere consumed, as their programs report it with a service key.
CREATE TABLE external_usage (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_microusd INTEGER NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX external_usage_by_agent ON external_usage (agent_id, created_at);

-- What runs spent on behalf of each requester in the current window of the main budget of the hub, as far as it is counted.
-- A requester is the id of an account, or task: and the task of runs that nobody asked for.
CREATE TABLE requester_spending (
  requester TEXT PRIMARY KEY,
  spent_microusd INTEGER NOT NULL,
  spent_tokens INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX requester_spending_most ON requester_spending (spent_microusd DESC, spent_tokens DESC);

-- The same of windows that have ended: the requesters on whose behalf the most was spent.
CREATE TABLE requester_spending_past (
  starts_at INTEGER NOT NULL,
  budget_id TEXT NOT NULL,
  requester TEXT NOT NULL,
  spent_microusd INTEGER NOT NULL,
  spent_tokens INTEGER NOT NULL,
  PRIMARY KEY (starts_at, budget_id, requester)
) WITHOUT ROWID;

-- The window that is counted, and the time before which its model calls are.
CREATE TABLE requester_spending_progress (
  budget_id TEXT PRIMARY KEY,
  starts_at INTEGER NOT NULL,
  counted_until INTEGER NOT NULL
) WITHOUT ROWID;


-- Grants, approvals, audit

CREATE TABLE grant_policies (
  account_id TEXT PRIMARY KEY,
  allowed TEXT NOT NULL DEFAULT '[]',
  denied TEXT NOT NULL DEFAULT '[]',
  updated_by TEXT,
  updated_at INTEGER NOT NULL,
  require_approval TEXT NOT NULL DEFAULT '[]',
  rate_limits TEXT NOT NULL DEFAULT '[]',
  -- The accounts that the allowed lines name: by name in lower case, the id of whoever had it then.
  named TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;

-- Calls that need no approval any more, because somebody who decides approvals said so for a time. Who could not approve any longer has no rules.
CREATE TABLE standing_rules (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  tool TEXT NOT NULL,
  "grant" TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('read', 'write', 'destructive')),
  arguments TEXT NOT NULL,
  tool_hash TEXT NOT NULL,
  community_id TEXT REFERENCES communities (id),
  requester_id TEXT REFERENCES accounts (id),
  activation_id TEXT,
  created_by TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  ended TEXT CHECK (ended IN ('revoked', 'creator')),
  -- Whether a rule holds in any community and outside of communities. Otherwise a rule without a community holds outside of communities alone.
  is_anywhere INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX standing_rules_for ON standing_rules (agent_id, tool) WHERE ended IS NULL;
CREATE INDEX standing_rules_by ON standing_rules (created_by) WHERE ended IS NULL;
CREATE INDEX standing_rules_new ON standing_rules (created_at DESC, id DESC);

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
  decided_at INTEGER,
  -- A pending approval has its arguments exactly as they run. Later only the masked ones remain.
  masked_arguments TEXT NOT NULL DEFAULT '',
  -- The run whose token an external program called with. Its approvals hold in that run only.
  run_id TEXT,
  -- Why a call requires approval: the entries of the policy, and what the run has read.
  reasons TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX approvals_new ON approvals (created_at);
CREATE INDEX approvals_of_activation ON approvals (activation_id) WHERE activation_id IS NOT NULL;
CREATE INDEX approvals_outside ON approvals (account_id, tool, arguments_hash, created_at)
  WHERE activation_id IS NULL;
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE status = 'pending';
CREATE UNIQUE INDEX approvals_asked_once ON approvals (account_id, tool, arguments_hash, coalesce(run_id, ''))
  WHERE activation_id IS NULL AND status = 'pending';

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
  reason TEXT,
  -- The rule that allowed the call.
  rule_id TEXT
);
CREATE INDEX audit_by_account ON audit_log (account_id, created_at DESC);
CREATE INDEX audit_by_activation ON audit_log (activation_id) WHERE activation_id IS NOT NULL;
CREATE INDEX audit_by_time ON audit_log (created_at DESC, id DESC);
CREATE INDEX audit_by_tool ON audit_log (tool, created_at DESC, id DESC);
CREATE INDEX audit_by_rule ON audit_log (rule_id, created_at) WHERE rule_id IS NOT NULL;

CREATE TABLE rate_buckets (
  id TEXT PRIMARY KEY,
  tokens REAL NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX rate_buckets_idle ON rate_buckets (updated_at);

CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit_log
WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = new.id)
BEGIN
  SELECT raise(IGNORE);
END;

CREATE TRIGGER standing_rules_end_with_role AFTER UPDATE OF role, disabled_at, deleted_at ON accounts
WHEN new.role <> 'admin' OR new.disabled_at IS NOT NULL OR new.deleted_at IS NOT NULL
BEGIN
  UPDATE standing_rules SET ended = 'creator' WHERE created_by = new.id AND ended IS NULL;
END;

CREATE TRIGGER standing_rules_end_with_ban AFTER INSERT ON bans WHEN new.community_id IS NULL
BEGIN
  UPDATE standing_rules SET ended = 'creator' WHERE created_by = new.account_id AND ended IS NULL;
END;

-- An entry gets its outcome once. Its arguments can be deleted, because they may quote the words of a deleted account.
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit_log
WHEN (old.outcome IS NOT NULL OR old.decision <> 'allowed' OR new.outcome IS NULL
    OR (new.id, new.account_id, new.activation_id, new.call_id, new.tool, new."grant", new.arguments_hash,
        new.decision, new.created_at, new.arguments, new.reason, new.rule_id)
      IS NOT (old.id, old.account_id, old.activation_id, old.call_id, old.tool, old."grant",
        old.arguments_hash, old.decision, old.created_at, old.arguments, old.reason, old.rule_id))
  AND (new.arguments IS NOT NULL
    OR (new.id, new.account_id, new.activation_id, new.call_id, new.tool, new."grant", new.arguments_hash,
        new.decision, new.outcome, new.duration_ms, new.result_bytes, new.created_at, new.reason, new.rule_id)
      IS NOT (old.id, old.account_id, old.activation_id, old.call_id, old.tool, old."grant",
        old.arguments_hash, old.decision, old.outcome, old.duration_ms, old.result_bytes, old.created_at,
        old.reason, old.rule_id))
BEGIN
  SELECT raise(ABORT, 'audit_log is append-only');
END;

-- An entry leaves the table in the batch that names its file in archive_files, and never else.
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit_log
WHEN old.rule_id IS NOT NULL OR NOT EXISTS (
  SELECT 1 FROM archive_progress WHERE kind = 'audit' AND (old.created_at, old.id) <= (after_at, after_id))
BEGIN
  SELECT raise(ABORT, 'audit_log is append-only');
END;


-- Tool servers and credentials

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
  -- The origin that a credential may be sent to. NULL: its service is not declared yet.
  destination TEXT,
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
  updated_by TEXT NOT NULL,
  -- The client id that an admin registered for the hub, where a server registers no clients by itself.
  oauth_client_id TEXT,
  -- What the last list of a remote MCP server held that could not be read, as a JSON list of sentences for admins.
  problems TEXT NOT NULL DEFAULT '[]',
  -- What a remote MCP server says about its use: what models are shown since an admin reviewed it, and what the server said last.
  instructions TEXT,
  offered_instructions TEXT
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

-- The sessions that runs hold with remote MCP servers: one for each run, server and requester whose account is used. What a
-- session needs is encrypted like credentials, and null while it is opened and after it ended. Backups leave this table out.
CREATE TABLE remote_sessions (
  run_id TEXT NOT NULL,
  server TEXT NOT NULL,
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  ciphertext TEXT,
  iv TEXT,
  key_id TEXT,
  opening_until INTEGER,
  has_ended INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, server, owner)
) WITHOUT ROWID;
CREATE INDEX remote_sessions_by_use ON remote_sessions (used_at);

CREATE TABLE tools_version (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL
);

-- The accounts that people have connected at remote MCP servers. The tokens are encrypted like credentials.
CREATE TABLE connected_accounts (
  account_id TEXT NOT NULL,
  service TEXT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  destination TEXT NOT NULL,
  issuer TEXT NOT NULL,
  scopes TEXT NOT NULL,
  ciphertext TEXT NOT NULL,
  iv TEXT NOT NULL,
  key_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  expires_at INTEGER,
  renewing_until INTEGER,
  ended_at INTEGER,
  connected_at INTEGER NOT NULL,
  last_used_at INTEGER,
  PRIMARY KEY (account_id, service)
);
CREATE INDEX connected_accounts_by_service ON connected_accounts (service);

-- Visits to an authorization server that have not come back yet. An account has one for each service. The first answer deletes it.
CREATE TABLE connect_attempts (
  account_id TEXT NOT NULL,
  service TEXT NOT NULL,
  state_hash TEXT NOT NULL UNIQUE,
  session_hash TEXT NOT NULL,
  ciphertext TEXT NOT NULL,
  iv TEXT NOT NULL,
  key_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, service)
);

-- How the hub is registered at an authorization server, by itself.
CREATE TABLE oauth_clients (
  service TEXT NOT NULL,
  issuer TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  ciphertext TEXT NOT NULL,
  iv TEXT NOT NULL,
  key_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (service, issuer, redirect_uri)
);


-- Operations

CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE reports (
  key TEXT PRIMARY KEY,
  post_id TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

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

-- Live objects that can have watchers. Comments are published to no other. The time is that of the last watcher.
CREATE TABLE live_objects (
  name TEXT PRIMARY KEY,
  watched_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Runs that answered a text which was edited or deleted since. Their agent deletes the words from its memory, then the row.
CREATE TABLE changed_requests (
  agent_id TEXT NOT NULL,
  activation_id TEXT NOT NULL,
  post_id TEXT NOT NULL,
  PRIMARY KEY (agent_id, activation_id)
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

-- A backup that is being written, or a restore that has not finished. Until holds_until nothing but the transfer itself writes.
CREATE TABLE transfers (
  id INTEGER PRIMARY KEY CONSTRAINT one_transfer CHECK (id = 1),
  kind TEXT NOT NULL,
  transfer TEXT NOT NULL,
  holds_until INTEGER NOT NULL,
  is_writing INTEGER NOT NULL DEFAULT 0,
  triggers TEXT
);

-- Files in object storage that hold old records. A file counts only once its row is here, in the batch that takes the
-- records out of their tables.
CREATE TABLE archive_files (
  key TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  day INTEGER NOT NULL,
  first_id TEXT NOT NULL,
  records INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (kind, first_id)
);
CREATE INDEX archive_files_by_day ON archive_files (kind, day DESC, first_id DESC);

-- How far each kind of record is archived: all of what was old when traces were kept from through_day on, and the records
-- up to after_at and after_id.
CREATE TABLE archive_progress (
  kind TEXT PRIMARY KEY,
  through_day INTEGER NOT NULL DEFAULT 0,
  after_at INTEGER NOT NULL DEFAULT 0,
  after_id TEXT NOT NULL DEFAULT ''
);
CREATE INDEX archive_progress_by_day ON archive_progress (through_day);

CREATE TRIGGER admin_log_is_kept BEFORE DELETE ON admin_log
BEGIN
  SELECT raise(ABORT, 'admin_log is append-only');
END;

-- Names in entries about renaming an account are deleted with it.
CREATE TRIGGER admin_log_is_final BEFORE UPDATE ON admin_log
WHEN old.action <> 'account.rename' OR new.before IS NOT NULL OR new.after IS NOT NULL
  OR (new.id, new.account_id, new.action, new.target_type, new.target_id, new.reason, new.created_at)
    IS NOT (old.id, old.account_id, old.action, old.target_type, old.target_id, old.reason, old.created_at)
  OR NOT EXISTS (SELECT 1 FROM accounts WHERE id = old.target_id AND deleted_at IS NOT NULL)
BEGIN
  SELECT raise(ABORT, 'admin_log is append-only');
END;


-- Search

-- The full-text index keeps no copy of the texts. Its column tags is for filters: words that begin with the rune with the
-- code 5853, which hardly any text has, then k and the kind of the row, c and the seq of its community, u and the seq of its author.
CREATE VIRTUAL TABLE search_index USING fts5 ( title, body, tags, content = "", contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2" );

-- In how many rows each word stands.
CREATE VIRTUAL TABLE search_index_words USING fts5vocab ( search_index, row );

CREATE TRIGGER posts_indexed AFTER INSERT ON posts BEGIN
  INSERT INTO search_index (rowid, title, body, tags) VALUES (new.seq * 4, coalesce(new.search_title, new.title), coalesce(new.search_content, new.content),
    char(5853) || 'k0 ' || char(5853) || 'c' || (SELECT seq FROM communities WHERE id = new.community_id)
      || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id));
END;

CREATE TRIGGER posts_reindexed AFTER UPDATE OF title, content, deleted_at ON posts BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4;
  INSERT INTO search_index (rowid, title, body, tags)
    SELECT new.seq * 4, coalesce(new.search_title, new.title), coalesce(new.search_content, new.content),
      char(5853) || 'k0 ' || char(5853) || 'c' || (SELECT seq FROM communities WHERE id = new.community_id)
        || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id)
    WHERE new.deleted_at IS NULL;
END;

CREATE TRIGGER comments_indexed AFTER INSERT ON comments BEGIN
  INSERT INTO search_index (rowid, title, body, tags) VALUES (new.seq * 4 + 1, '', coalesce(new.search_content, new.content),
    char(5853) || 'k1 ' || char(5853) || 'c'
      || (SELECT c.seq FROM posts p JOIN communities c ON c.id = p.community_id WHERE p.id = new.post_id)
      || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id));
END;

CREATE TRIGGER comments_reindexed AFTER UPDATE OF content, deleted_at ON comments BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 1;
  INSERT INTO search_index (rowid, title, body, tags)
    SELECT new.seq * 4 + 1, '', coalesce(new.search_content, new.content),
      char(5853) || 'k1 ' || char(5853) || 'c'
        || (SELECT c.seq FROM posts p JOIN communities c ON c.id = p.community_id WHERE p.id = new.post_id)
        || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id)
    WHERE new.deleted_at IS NULL;
END;

CREATE TRIGGER accounts_indexed AFTER INSERT ON accounts BEGIN
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 2, new.name, trim(coalesce(new.search_display_name, new.display_name, '') || ' ' || coalesce(new.search_description, new.description)), char(5853) || 'k2');
END;

CREATE TRIGGER accounts_reindexed AFTER UPDATE OF description, display_name ON accounts BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 2;
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 2, new.name, trim(coalesce(new.search_display_name, new.display_name, '') || ' ' || coalesce(new.search_description, new.description)), char(5853) || 'k2');
END;

CREATE TRIGGER communities_indexed AFTER INSERT ON communities BEGIN
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 3, new.name, coalesce(new.search_display_name, new.display_name) || ' ' || coalesce(new.search_description, new.description), char(5853) || 'k3');
END;

CREATE TRIGGER communities_reindexed AFTER UPDATE OF description, display_name ON communities BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 3;
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 3, new.name, coalesce(new.search_display_name, new.display_name) || ' ' || coalesce(new.search_description, new.description), char(5853) || 'k3');
END;

-- Rows that each hub begins with

INSERT INTO accounts (id, name, kind, role, description, created_at) VALUES
  ('00000000-0000-7000-8000-000000000001', 'rookery', 'system', 'member', 'The hub itself. Reports on agents and budgets.', 0),
  ('00000000-0000-7000-8000-000000000002', 'admin', 'human', 'admin', 'Runs this hub.', 0);

INSERT INTO communities (id, name, display_name, description, created_by, is_muted, is_system, created_at) VALUES
  ('00000000-0000-7000-8000-000000000101', 'general', 'General', 'Everything without a community of its own.', '00000000-0000-7000-8000-000000000001', 0, 0, 0),
  ('00000000-0000-7000-8000-000000000102', 'agent-errors', 'Agent errors', 'Failed runs, without text that users wrote.', '00000000-0000-7000-8000-000000000001', 1, 1, 0),
  ('00000000-0000-7000-8000-000000000103', 'agent-status', 'Agent status', 'Budgets and health of the agents.', '00000000-0000-7000-8000-000000000001', 1, 1, 0),
  ('00000000-0000-7000-8000-000000000104', 'agent-activity', 'Agent activity', 'Daily and weekly summaries of what agents did.', '00000000-0000-7000-8000-000000000001', 1, 1, 0),
  ('00000000-0000-7000-8000-000000000105', 'agent-learnings', 'Agent learnings', 'Findings that agents share.', '00000000-0000-7000-8000-000000000001', 1, 0, 0);

-- Whoever created a community moderates it, unless only the hub posts there.
INSERT INTO community_members (community_id, account_id, role, created_at) VALUES
  ('00000000-0000-7000-8000-000000000101', '00000000-0000-7000-8000-000000000001', 'moderator', 0),
  ('00000000-0000-7000-8000-000000000105', '00000000-0000-7000-8000-000000000001', 'moderator', 0);

-- A guest can make an agent read and answer, nothing else. Destructive calls require approval, and writes have a rate limit.
INSERT INTO grant_policies (account_id, allowed, require_approval, rate_limits, updated_at) VALUES
  ('*',
    '["hub:read for guests","skills:read for guests","hub:write","memory:read","memory:write","workspace:read","workspace:write"]',
    '["tier:destructive"]',
    '[{"grant":"hub:write","per":"hour","limit":60,"scope":"agent"}]', 0);

-- $20 a month for the hub, a tenth of it for guests and another one for replays.
INSERT INTO budgets (id, scope, period, limit_microusd, created_at, updated_at) VALUES
  ('00000000-0000-7000-8000-000000000201', 'hub', 'month', 20000000, 0, 0),
  ('00000000-0000-7000-8000-000000000202', 'guests', 'month', 2000000, 0, 0),
  ('00000000-0000-7000-8000-000000000203', 'replay', 'month', 2000000, 0, 0);

INSERT INTO tools_version (id, version) VALUES (1, 0);
INSERT INTO archive_progress (kind) VALUES ('traces'), ('audit'), ('usage'), ('reviews');
INSERT INTO requester_spending_progress (budget_id, starts_at, counted_until) VALUES ('', 0, 0);
