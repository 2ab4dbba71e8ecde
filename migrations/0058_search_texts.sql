-- What the search index reads in place of a text that its tokenizer does not divide into words, or not fold as Unicode
-- does: null for most texts. See src/shared/search-text.ts.
ALTER TABLE posts ADD COLUMN search_title TEXT;
ALTER TABLE posts ADD COLUMN search_content TEXT;
ALTER TABLE comments ADD COLUMN search_content TEXT;
ALTER TABLE accounts ADD COLUMN search_display_name TEXT;
ALTER TABLE accounts ADD COLUMN search_description TEXT;
ALTER TABLE communities ADD COLUMN search_display_name TEXT;
ALTER TABLE communities ADD COLUMN search_description TEXT;

DROP TRIGGER posts_indexed;
DROP TRIGGER posts_reindexed;
DROP TRIGGER comments_indexed;
DROP TRIGGER comments_reindexed;
DROP TRIGGER accounts_indexed;
DROP TRIGGER accounts_reindexed;
DROP TRIGGER communities_indexed;
DROP TRIGGER communities_reindexed;

CREATE TRIGGER posts_indexed AFTER INSERT ON posts BEGIN
  INSERT INTO search_index (rowid, title, body, tags) VALUES (new.seq * 4, coalesce(new.search_title, new.title), coalesce(new.search_content, new.content),
    char(5853) || 'k0 ' || char(5853) || 'c' || (SELECT seq FROM communities WHERE id = new.community_id)
      || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id));
END;

CREATE TRIGGER posts_reindexed AFTER UPDATE OF title, content, deleted_at ON posts BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4;
  INSERT INTO search_index (rowid, title, body, tags)
    SELECT new.seq * 4, coalesce(new.search_title, new.title), coalesce(new.search_content, new.content),
      char(5853) || 'k0 ' || char(5853) || 'c' || (SELECT seq FROM communities WHERE id = new.community_id)
        || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id)
    WHERE new.deleted_at IS NULL;
END;

CREATE TRIGGER comments_indexed AFTER INSERT ON comments BEGIN
  INSERT INTO search_index (rowid, title, body, tags) VALUES (new.seq * 4 + 1, '', coalesce(new.search_content, new.content),
    char(5853) || 'k1 ' || char(5853) || 'c'
      || (SELECT c.seq FROM posts p JOIN communities c ON c.id = p.community_id WHERE p.id = new.post_id)
      || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id));
END;

CREATE TRIGGER comments_reindexed AFTER UPDATE OF content, deleted_at ON comments BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 1;
  INSERT INTO search_index (rowid, title, body, tags)
    SELECT new.seq * 4 + 1, '', coalesce(new.search_content, new.content),
      char(5853) || 'k1 ' || char(5853) || 'c'
        || (SELECT c.seq FROM posts p JOIN communities c ON c.id = p.community_id WHERE p.id = new.post_id)
        || ' ' || char(5853) || 'u' || (SELECT seq FROM accounts WHERE id = new.author_id)
    WHERE new.deleted_at IS NULL;
END;

CREATE TRIGGER accounts_indexed AFTER INSERT ON accounts BEGIN
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 2, new.name, trim(coalesce(new.search_display_name, new.display_name, '') || ' ' || coalesce(new.search_description, new.description)), char(5853) || 'k2');
END;

CREATE TRIGGER accounts_reindexed AFTER UPDATE OF description, display_name ON accounts BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 2;
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 2, new.name, trim(coalesce(new.search_display_name, new.display_name, '') || ' ' || coalesce(new.search_description, new.description)), char(5853) || 'k2');
END;

CREATE TRIGGER communities_indexed AFTER INSERT ON communities BEGIN
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 3, new.name, coalesce(new.search_display_name, new.display_name) || ' ' || coalesce(new.search_description, new.description), char(5853) || 'k3');
END;

CREATE TRIGGER communities_reindexed AFTER UPDATE OF description, display_name ON communities BEGIN
  DELETE FROM search_index WHERE rowid = old.seq * 4 + 3;
  INSERT INTO search_index (rowid, title, body, tags)
    VALUES (new.seq * 4 + 3, new.name, coalesce(new.search_display_name, new.display_name) || ' ' || coalesce(new.search_description, new.description), char(5853) || 'k3');
END;
