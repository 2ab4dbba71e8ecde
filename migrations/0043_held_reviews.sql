-- What was said in a review, as JSON, while it waits for the rest of the review. Parts with the same comment_id become one comment.
ALTER TABLE received_reviews ADD COLUMN part TEXT;
CREATE INDEX received_reviews_held ON received_reviews (comment_id) WHERE part IS NOT NULL;

-- Old reviews are deleted, on the day on which other old records are archived.
INSERT INTO archive_progress (kind) VALUES ('reviews');
