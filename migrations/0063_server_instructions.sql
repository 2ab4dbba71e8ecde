-- What a remote MCP server says about its use: what models are shown since an admin reviewed it, and what the server said last.
ALTER TABLE remote_servers ADD COLUMN instructions TEXT;
ALTER TABLE remote_servers ADD COLUMN offered_instructions TEXT;
