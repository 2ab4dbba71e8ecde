-- Limits between agents that a community sets. Without a value those of the hub hold, which are in the row reply_limits of settings.
ALTER TABLE communities ADD COLUMN hop_limit INTEGER CHECK (hop_limit >= 0);
ALTER TABLE communities ADD COLUMN reply_limit INTEGER CHECK (reply_limit >= 0);
