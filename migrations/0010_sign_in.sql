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
  last_used_at INTEGER
);
CREATE INDEX passkeys_by_account ON passkeys (account_id);

CREATE TABLE identities (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
);
CREATE UNIQUE INDEX identities_by_subject ON identities (issuer, subject);
CREATE INDEX identities_by_account ON identities (account_id);

-- A challenge or a state that was given out. Its row is deleted by the first answer.
CREATE TABLE sign_in_attempts (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('add_passkey', 'use_passkey', 'identity')),
  account_id TEXT REFERENCES accounts (id),
  data TEXT NOT NULL DEFAULT '{}',
  expires_at INTEGER NOT NULL
);
CREATE INDEX sign_in_attempts_by_expiry ON sign_in_attempts (expires_at);

-- A session ends with what opened it. A rotated admin key has another hash.
ALTER TABLE api_keys ADD COLUMN passkey_id TEXT REFERENCES passkeys (id) ON DELETE CASCADE;
ALTER TABLE api_keys ADD COLUMN identity_id TEXT REFERENCES identities (id) ON DELETE CASCADE;
ALTER TABLE api_keys ADD COLUMN admin_key_hash TEXT;
CREATE INDEX api_keys_by_passkey ON api_keys (passkey_id) WHERE passkey_id IS NOT NULL;
CREATE INDEX api_keys_by_identity ON api_keys (identity_id) WHERE identity_id IS NOT NULL;

-- Sessions and links that do not say what opened them could outlive it.
DELETE FROM api_keys WHERE kind IN ('session', 'link') AND opened_by IS NULL;
