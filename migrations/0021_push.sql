-- Browsers that get push messages. A device belongs to the session that added it and goes with it.
CREATE TABLE push_devices (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  session_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  endpoint TEXT NOT NULL UNIQUE,
  p256dh TEXT NOT NULL,
  auth TEXT NOT NULL,
  server_key TEXT NOT NULL,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_sent_at INTEGER,
  failure TEXT
);
CREATE INDEX push_devices_by_account ON push_devices (account_id);
CREATE INDEX push_devices_by_session ON push_devices (session_id);

-- What an account wants to be reached for. Without a row the defaults of the schema hold.
CREATE TABLE push_settings (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id),
  kinds TEXT NOT NULL,
  quiet_from INTEGER,
  quiet_to INTEGER,
  timezone TEXT NOT NULL
) WITHOUT ROWID;

-- Messages to send. A row is written with the inbox item and deleted once the push service has taken it.
CREATE TABLE push_queue (
  device_id TEXT NOT NULL REFERENCES push_devices (id) ON DELETE CASCADE,
  item_id TEXT NOT NULL REFERENCES inbox_items (id) ON DELETE CASCADE,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  claim TEXT,
  PRIMARY KEY (device_id, item_id)
) WITHOUT ROWID;
CREATE INDEX push_queue_by_due ON push_queue (due_at);
CREATE INDEX push_queue_by_claim ON push_queue (claim) WHERE claim IS NOT NULL;
CREATE INDEX push_queue_by_item ON push_queue (item_id);
