-- A backup that is being written, or a restore that has not finished. Until holds_until nothing but the transfer itself writes.
CREATE TABLE transfers (
  id INTEGER PRIMARY KEY CONSTRAINT one_transfer CHECK (id = 1),
  kind TEXT NOT NULL,
  transfer TEXT NOT NULL,
  holds_until INTEGER NOT NULL,
  is_writing INTEGER NOT NULL DEFAULT 0,
  triggers TEXT
);
