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

-- The client id that an admin registered for the hub, where a server registers no clients by itself.
ALTER TABLE remote_servers ADD COLUMN oauth_client_id TEXT;
