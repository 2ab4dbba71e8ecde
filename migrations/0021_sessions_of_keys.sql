-- The key that a browser's session was opened with: the session goes with it (H2). Null for a session of
-- a sign-in link or of the admin's key of the environment.
ALTER TABLE api_keys ADD COLUMN opened_by TEXT REFERENCES api_keys (id) ON DELETE CASCADE;
CREATE INDEX api_keys_by_opener ON api_keys (opened_by) WHERE opened_by IS NOT NULL;
-- Of the sessions until now nobody knows what their key may do, or whether it is still there.
DELETE FROM api_keys WHERE kind = 'session';
