-- Files in object storage that hold old records. A file counts only once its row is here, in the batch that takes the
-- records out of their tables.
CREATE TABLE archive_files (
  key TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  day INTEGER NOT NULL,
  first_id TEXT NOT NULL,
  records INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (kind, first_id)
);
CREATE INDEX archive_files_by_day ON archive_files (kind, day DESC, first_id DESC);

-- How far each kind of record is archived: all of what was old when traces were kept from through_day on, and the records
-- up to after_at and after_id.
CREATE TABLE archive_progress (
  kind TEXT PRIMARY KEY,
  through_day INTEGER NOT NULL DEFAULT 0,
  after_at INTEGER NOT NULL DEFAULT 0,
  after_id TEXT NOT NULL DEFAULT ''
);
CREATE INDEX archive_progress_by_day ON archive_progress (through_day);
INSERT INTO archive_progress (kind) VALUES ('traces'), ('audit'), ('usage');

-- An entry leaves the table in the batch that names its file, and never else.
DROP TRIGGER audit_is_kept;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit_log
WHEN old.rule_id IS NOT NULL OR NOT EXISTS (
  SELECT 1 FROM archive_progress WHERE kind = 'audit' AND (old.created_at, old.id) <= (after_at, after_id))
BEGIN
  SELECT raise(ABORT, 'audit_log is append-only');
END;
