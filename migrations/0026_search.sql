-- The full-text index keeps no copy of the texts. It has a column for filters, whose words begin with the
-- rune with the code 5853, which hardly any text has: k and the kind of the row, c and the seq of its community, u and the seq of its author.
-- Document frequencies of words are read from search_index_words.
DROP TRIGGER posts_indexed;
DROP TRIGGER posts_reindexed;
DROP TRIGGER comments_indexed;
DROP TRIGGER comments_reindexed;
DROP TRIGGER accounts_indexed;
DROP TRIGGER accounts_reindexed;
DROP TRIGGER communities_indexed;
DROP TRIGGER communities_reindexed;
DROP TABLE search_index;

CREATE VIRTUAL TABLE search_index USING fts5 ( title, body, tags, content = "", contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2" );
CREATE VIRTUAL TABLE search_index_words USING fts5vocab ( search_index, row );

CREATE TRIGGER posts_indexed AFTER INSERT ON posts BEGIN
  INSERT INTO search_index (rowid, title, body, tags) VALUES (new.seq * 4, new.title, new.content,
    char(5853) || 'k0 ' || char(5853) || 'c' || (SELECT seq FROM communities WHERE id = new.community_id)
      || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id));
END;

CREATE TRIGGER posts_reindexed AFTER UPDATE OF title, content, deleted_at ON posts BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4;
  INSERT INTO search_index (rowid, title, body, tags)
    SELECT new.seq * 4, new.title, new.content,
      char(5853) || 'k0 ' || char(5853) || 'c' || (SELECT seq FROM communities WHERE id = new.community_id)
        || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id)
    WHERE new.deleted_at IS NULL;
END;

CREATE TRIGGER comments_indexed AFTER INSERT ON comments BEGIN
  INSERT INTO search_index (rowid, title, body, tags) VALUES (new.seq * 4 + 1, '', new.content,
    char(5853) || 'k1 ' || char(5853) || 'c'
      || (SELECT c.seq FROM posts p JOIN communities c ON c.id = p.community_id WHERE p.id = new.post_id)
      || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id));
END;

CREATE TRIGGER comments_reindexed AFTER UPDATE OF content, deleted_at ON comments BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 1;
  INSERT INTO search_index (rowid, title, body, tags)
    SELECT new.seq * 4 + 1, '', new.content,
      char(5853) || 'k1 ' || char(5853) || 'c'
        || (SELECT c.seq FROM posts p JOIN communities c ON c.id = p.community_id WHERE p.id = new.post_id)
        || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id)
    WHERE new.deleted_at IS NULL;
END;

CREATE TRIGGER accounts_indexed AFTER INSERT ON accounts BEGIN
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 2, new.name, new.description, char(5853) || 'k2');
END;

CREATE TRIGGER accounts_reindexed AFTER UPDATE OF description, display_name ON accounts BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 2;
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 2, new.name, coalesce(new.display_name, '') || ' ' || new.description, char(5853) || 'k2');
END;

CREATE TRIGGER communities_indexed AFTER INSERT ON communities BEGIN
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 3, new.name, new.display_name || ' ' || new.description, char(5853) || 'k3');
END;

CREATE TRIGGER communities_reindexed AFTER UPDATE OF description, display_name ON communities BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 3;
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 3, new.name, new.display_name || ' ' || new.description, char(5853) || 'k3');
END;

INSERT INTO search_index (rowid, title, body, tags)
  SELECT p.seq * 4, p.title, p.content, char(5853) || 'k0 ' || char(5853) || 'c' || c.seq || ' ' || char(5853) || 'u' || a.seq
  FROM posts p JOIN communities c ON c.id = p.community_id JOIN accounts a ON a.id = p.author_id
  WHERE p.deleted_at IS NULL;
INSERT INTO search_index (rowid, title, body, tags)
  SELECT m.seq * 4 + 1, '', m.content, char(5853) || 'k1 ' || char(5853) || 'c' || c.seq || ' ' || char(5853) || 'u' || a.seq
  FROM comments m JOIN posts p ON p.id = m.post_id JOIN communities c ON c.id = p.community_id
    JOIN accounts a ON a.id = m.author_id
  WHERE m.deleted_at IS NULL;
INSERT INTO search_index (rowid, title, body, tags)
  SELECT seq * 4 + 2, name, trim(coalesce(display_name, '') || ' ' || description), char(5853) || 'k2' FROM accounts;
INSERT INTO search_index (rowid, title, body, tags)
  SELECT seq * 4 + 3, name, display_name || ' ' || description, char(5853) || 'k3' FROM communities;

-- Lists of admins and moderators read no other accounts.
CREATE INDEX accounts_admins ON accounts (name) WHERE role = 'admin';
CREATE INDEX accounts_moderators ON accounts (name) WHERE is_moderator = 1;
