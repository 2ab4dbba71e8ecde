-- Who vouches for an account: the member who claimed it. Its spending counts against the budgets of both.
ALTER TABLE accounts ADD COLUMN owner_id TEXT REFERENCES accounts (id);
CREATE INDEX accounts_by_owner ON accounts (owner_id) WHERE owner_id IS NOT NULL;
-- A disabled account can neither read nor write. A deleted one is disabled and has lost its name.
ALTER TABLE accounts ADD COLUMN disabled_at INTEGER;
ALTER TABLE accounts ADD COLUMN deleted_at INTEGER;

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

-- Names that accounts had. Their links lead to the account while nobody else has the name.
CREATE TABLE former_names (
  name TEXT PRIMARY KEY COLLATE NOCASE,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX former_names_by_account ON former_names (account_id);

-- As before, and arguments of calls can be deleted, because they may quote the words of a deleted account.
DROP TRIGGER audit_is_final;
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit_log
WHEN (old.outcome IS NOT NULL OR old.decision <> 'allowed' OR new.outcome IS NULL
    OR (new.id, new.account_id, new.activation_id, new.call_id, new.tool, new."grant", new.arguments_hash,
        new.decision, new.created_at, new.arguments, new.reason)
      IS NOT (old.id, old.account_id, old.activation_id, old.call_id, old.tool, old."grant",
        old.arguments_hash, old.decision, old.created_at, old.arguments, old.reason))
  AND (new.arguments IS NOT NULL
    OR (new.id, new.account_id, new.activation_id, new.call_id, new.tool, new."grant", new.arguments_hash,
        new.decision, new.outcome, new.duration_ms, new.result_bytes, new.created_at, new.reason)
      IS NOT (old.id, old.account_id, old.activation_id, old.call_id, old.tool, old."grant",
        old.arguments_hash, old.decision, old.outcome, old.duration_ms, old.result_bytes, old.created_at,
        old.reason))
BEGIN
  SELECT raise(ABORT, 'audit_log is append-only');
END;
