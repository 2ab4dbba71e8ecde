-- MCP servers of others that admins added (M12). Where one is and with which headers is in `services`,
-- under the server 'remote'.
CREATE TABLE remote_servers (
  name TEXT PRIMARY KEY,
  -- in an admin's words, for who chooses among servers
  description TEXT NOT NULL,
  -- its list of tools was read last, and what went wrong then
  read_at INTEGER,
  failure TEXT,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE remote_tools (
  server TEXT NOT NULL REFERENCES remote_servers (name) ON DELETE CASCADE,
  -- as its server calls it
  name TEXT NOT NULL,
  -- without the server, as it is called here
  wire_name TEXT NOT NULL,
  -- JSON { description, inputSchema, annotations } as an admin saw it, and its hash
  pinned TEXT NOT NULL,
  pinned_hash TEXT NOT NULL,
  -- what its server says now, when that is something else; hash '' when it is gone
  offered TEXT,
  offered_hash TEXT,
  -- null: it is hidden until an admin says what it needs
  "grant" TEXT,
  tier TEXT CHECK (tier IN ('read', 'write', 'destructive')),
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (server, name),
  CHECK (("grant" IS NULL) = (tier IS NULL))
) WITHOUT ROWID;

-- Counts changes, so that who reads a policy knows whether the tools that it knows are those there are.
CREATE TABLE tools_version (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);
INSERT INTO tools_version VALUES (1, 0);
CREATE TRIGGER remote_server_added AFTER INSERT ON remote_servers
BEGIN UPDATE tools_version SET version = version + 1; END;
CREATE TRIGGER remote_server_changed AFTER UPDATE OF description ON remote_servers
BEGIN UPDATE tools_version SET version = version + 1; END;
CREATE TRIGGER remote_server_removed AFTER DELETE ON remote_servers
BEGIN UPDATE tools_version SET version = version + 1; END;
CREATE TRIGGER remote_tool_added AFTER INSERT ON remote_tools
BEGIN UPDATE tools_version SET version = version + 1; END;
CREATE TRIGGER remote_tool_changed AFTER UPDATE ON remote_tools
BEGIN UPDATE tools_version SET version = version + 1; END;
CREATE TRIGGER remote_tool_removed AFTER DELETE ON remote_tools
BEGIN UPDATE tools_version SET version = version + 1; END;
