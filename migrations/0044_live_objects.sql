-- Live objects that can have watchers. Comments are published to no other. The time is that of the last watcher.
CREATE TABLE live_objects (
  name TEXT PRIMARY KEY,
  watched_at INTEGER NOT NULL
) WITHOUT ROWID;
