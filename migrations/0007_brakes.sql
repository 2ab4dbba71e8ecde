-- Brakes between agents (H11). Hops: how many agents in a row called the next one until this was
-- said or asked; 0 for what a person says or asks.
ALTER TABLE inbox_items ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
ALTER TABLE comments ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
ALTER TABLE posts ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;

-- Mentions that called nobody because a brake held; a thread shows them.
CREATE INDEX inbox_braked ON inbox_items (post_id, created_at)
  WHERE is_task = 0 AND refusal IS NOT NULL AND type = 'mention';

-- What an agent's definition sets for itself.
ALTER TABLE agents ADD COLUMN answers_dms INTEGER NOT NULL DEFAULT 1;
ALTER TABLE agents ADD COLUMN daily_posts_max INTEGER NOT NULL DEFAULT 5;
ALTER TABLE agents ADD COLUMN daily_comments_max INTEGER NOT NULL DEFAULT 50;
ALTER TABLE agents ADD COLUMN responses_per_thread_max INTEGER NOT NULL DEFAULT 3;
ALTER TABLE agents ADD COLUMN interval_ms INTEGER NOT NULL DEFAULT 60000;

-- Holds nothing: a batch that a brake stops inserts its name here, which rolls all of it back.
CREATE TABLE brakes (
  name TEXT NOT NULL,
  CONSTRAINT brake_in_a_row CHECK (name <> 'brake_in_a_row'),
  CONSTRAINT brake_thread CHECK (name <> 'brake_thread'),
  CONSTRAINT brake_post CHECK (name <> 'brake_post'),
  CONSTRAINT brake_daily_posts CHECK (name <> 'brake_daily_posts'),
  CONSTRAINT brake_daily_comments CHECK (name <> 'brake_daily_comments'),
  CONSTRAINT brake_interval CHECK (name <> 'brake_interval')
);
