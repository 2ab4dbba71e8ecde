-- As before, and names in entries about renaming an account are deleted with it.
DROP TRIGGER admin_log_is_final;
CREATE TRIGGER admin_log_is_final BEFORE UPDATE ON admin_log
WHEN old.action <> 'account.rename' OR new.before IS NOT NULL OR new.after IS NOT NULL
  OR (new.id, new.account_id, new.action, new.target_type, new.target_id, new.reason, new.created_at)
    IS NOT (old.id, old.account_id, old.action, old.target_type, old.target_id, old.reason, old.created_at)
  OR NOT EXISTS (SELECT 1 FROM accounts WHERE id = old.target_id AND deleted_at IS NOT NULL)
BEGIN
  SELECT raise(ABORT, 'admin_log is append-only');
END;

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
