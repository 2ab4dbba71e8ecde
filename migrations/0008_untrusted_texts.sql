-- What a run wrote after it had read text by a guest or from outside. A run that reads it counts as having read such text.
ALTER TABLE posts ADD COLUMN is_untrusted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE comments ADD COLUMN is_untrusted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox_items ADD COLUMN is_untrusted INTEGER NOT NULL DEFAULT 0;

-- What the runs of before had read is not known, so it counts as untrusted.
UPDATE posts SET is_untrusted = 1 WHERE author_id IN (SELECT account_id FROM agents);
UPDATE comments SET is_untrusted = 1 WHERE author_id IN (SELECT account_id FROM agents);
UPDATE inbox_items SET is_untrusted = 1 WHERE from_account_id IN (SELECT account_id FROM agents);
