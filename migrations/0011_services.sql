-- Services outside, of all servers that reach out. A server may know some by itself; a row here
-- declares another, or overrides what the server knows.
CREATE TABLE services (
  server TEXT NOT NULL,
  name TEXT NOT NULL,
  base_url TEXT NOT NULL,
  -- JSON list of host[:port] that requests may go to, the base URL's own among them
  hosts TEXT NOT NULL,
  -- JSON object, "{credential}" standing for the credential
  headers TEXT NOT NULL DEFAULT '{}',
  -- name of the one to use when neither agent nor community has its own; null: the only one there is
  credential TEXT,
  format TEXT NOT NULL DEFAULT 'json' CHECK (format IN ('json', 'any')),
  allow_http INTEGER NOT NULL DEFAULT 0,
  allow_private INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (server, name)
) WITHOUT ROWID;

INSERT INTO services (server, name, base_url, hosts, headers, credential, format, allow_http,
  allow_private, updated_at, updated_by)
SELECT 'http', name, base_url, hosts, headers, credential, format, allow_http, allow_private,
  updated_at, updated_by
FROM http_services;

DROP TABLE http_services;
