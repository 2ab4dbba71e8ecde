-- Whose sign-in link opened a session, and in such a session added a passkey or linked an identity.
ALTER TABLE api_keys ADD COLUMN link_by TEXT;
ALTER TABLE passkeys ADD COLUMN link_by TEXT;
ALTER TABLE identities ADD COLUMN link_by TEXT;

-- A community is found by its present description.
CREATE TRIGGER communities_reindexed AFTER UPDATE OF description, display_name ON communities BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 3;
  INSERT INTO search_index (rowid, title, body)
    VALUES (new.seq * 4 + 3, new.name, new.display_name || ' ' || new.description);
END;
UPDATE communities SET description = description;
