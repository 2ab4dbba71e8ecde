-- Services outside that agents may use, and the credentials for them (M5). Values are encrypted
-- (AES-256-GCM) with a key that is not in this database.
CREATE TABLE credentials (
  name TEXT PRIMARY KEY,
  server TEXT NOT NULL,
  service TEXT NOT NULL,
  -- name of a community, id and name of an agent: who may use it; null: everybody
  community TEXT,
  agent_id TEXT,
  agent TEXT,
  -- of the vault: base64 and the id of the key that encrypted it
  ciphertext TEXT,
  iv TEXT,
  key_id TEXT,
  -- or the name of a secret of the Worker
  variable TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  last_used_at INTEGER,
  CHECK ((variable IS NULL) = (ciphertext IS NOT NULL))
) WITHOUT ROWID;
CREATE INDEX credentials_by_service ON credentials (server, service);

CREATE TABLE http_services (
  name TEXT PRIMARY KEY,
  base_url TEXT NOT NULL,
  -- JSON list of host[:port] that requests may go to, the base URL's own among them
  hosts TEXT NOT NULL,
  -- JSON object, "{credential}" standing for the credential
  headers TEXT NOT NULL DEFAULT '{}',
  credential TEXT,
  format TEXT NOT NULL DEFAULT 'json' CHECK (format IN ('json', 'any')),
  allow_http INTEGER NOT NULL DEFAULT 0,
  allow_private INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL
) WITHOUT ROWID;
