-- Holds nothing, as before, with one more brake: who looks around adds nothing to a thread that another
-- agent answered since the turn began (S9).
DROP TABLE brakes;
CREATE TABLE brakes (
  name TEXT NOT NULL,
  CONSTRAINT brake_in_a_row CHECK (name <> 'brake_in_a_row'),
  CONSTRAINT brake_thread CHECK (name <> 'brake_thread'),
  CONSTRAINT brake_post CHECK (name <> 'brake_post'),
  CONSTRAINT brake_answered CHECK (name <> 'brake_answered'),
  CONSTRAINT brake_daily_posts CHECK (name <> 'brake_daily_posts'),
  CONSTRAINT brake_daily_comments CHECK (name <> 'brake_daily_comments'),
  CONSTRAINT brake_interval CHECK (name <> 'brake_interval')
);
