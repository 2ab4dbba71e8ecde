-- `top` is an index scan too: a page of it reads the rows of a page (H7).
CREATE INDEX posts_top ON posts ((upvotes - downvotes) DESC, id DESC) WHERE deleted_at IS NULL AND is_listed = 1;
CREATE INDEX posts_top_in ON posts (community_id, (upvotes - downvotes) DESC, id DESC) WHERE deleted_at IS NULL;
