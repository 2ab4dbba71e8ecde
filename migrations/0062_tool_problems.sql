-- What the last list of a remote MCP server held that could not be read, as a JSON list of sentences for admins.
ALTER TABLE remote_servers ADD COLUMN problems TEXT NOT NULL DEFAULT '[]';
