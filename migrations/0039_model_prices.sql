-- Prices that admins set on a page, by name of the model: micro-dollars per million tokens.
ALTER TABLE model_providers ADD COLUMN prices TEXT NOT NULL DEFAULT '{}';
