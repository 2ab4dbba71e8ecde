-- Posts and comments that were deleted or removed: what refers to one shows and counts nothing of it.
CREATE INDEX posts_deleted ON posts (id) WHERE deleted_at IS NOT NULL;
CREATE INDEX comments_deleted ON comments (id) WHERE deleted_at IS NOT NULL;

-- Runs that answered a text which was edited or deleted since. Their agent deletes the words from its memory, then the row.
CREATE TABLE changed_requests (
  agent_id TEXT NOT NULL,
  activation_id TEXT NOT NULL,
  post_id TEXT NOT NULL,
  PRIMARY KEY (agent_id, activation_id)
) WITHOUT ROWID;

-- The name of each agent, so that lists of agents by name read one page.
ALTER TABLE agents ADD COLUMN name TEXT NOT NULL DEFAULT '' COLLATE NOCASE;
UPDATE agents SET name = coalesce((SELECT name FROM accounts WHERE id = account_id), '');
CREATE INDEX agents_by_name ON agents (name);
CREATE INDEX agents_paused ON agents (account_id) WHERE is_paused = 1;
CREATE TRIGGER agents_named AFTER INSERT ON agents BEGIN
  UPDATE agents SET name = coalesce((SELECT name FROM accounts WHERE id = new.account_id), '') WHERE account_id = new.account_id;
END;
CREATE TRIGGER agents_renamed AFTER UPDATE OF name ON accounts BEGIN
  UPDATE agents SET name = new.name WHERE account_id = new.id;
END;
