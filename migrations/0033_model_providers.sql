-- Providers of models that admins set up on a page. Keys are in credentials, base URLs in services, both of the server models.
CREATE TABLE model_providers (
  provider TEXT PRIMARY KEY,
  default_model TEXT,
  listed TEXT NOT NULL DEFAULT '[]',
  listed_at INTEGER,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL
) WITHOUT ROWID;

-- Whether runs of the agent read those providers. A hub without any reads no row for them.
ALTER TABLE agents ADD COLUMN reads_providers INTEGER NOT NULL DEFAULT 0;
