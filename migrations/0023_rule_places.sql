-- Whether a rule holds in any community and outside of communities. Otherwise a rule without a community holds outside of communities alone.
ALTER TABLE standing_rules ADD COLUMN is_anywhere INTEGER NOT NULL DEFAULT 0;
