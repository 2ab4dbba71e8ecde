-- What imports have made: the key of a record within its source, and the row of this hub that it became. Imports
-- find again what stands here, and nothing else.
CREATE TABLE imported_records (
  source TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (source, kind, key)
) WITHOUT ROWID;

-- Until now keys were ids. Nobody but an import writes as an imported account.
INSERT INTO imported_records (source, kind, key, id)
  SELECT '', 'author', id, id FROM accounts WHERE is_imported = 1;
INSERT INTO imported_records (source, kind, key, id)
  SELECT '', 'post', p.id, p.id FROM posts p JOIN accounts a ON a.id = p.author_id WHERE a.is_imported = 1;
INSERT INTO imported_records (source, kind, key, id)
  SELECT '', 'comment', c.id, c.id FROM comments c JOIN accounts a ON a.id = c.author_id WHERE a.is_imported = 1;
