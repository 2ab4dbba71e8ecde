-- The session that began an attempt to add a way to sign in, with which the attempt ends. Null to sign in.
ALTER TABLE sign_in_attempts ADD COLUMN begun_by TEXT REFERENCES api_keys (id) ON DELETE CASCADE;
CREATE INDEX sign_in_attempts_by_beginner ON sign_in_attempts (begun_by) WHERE begun_by IS NOT NULL;

-- The key or session that created a sign-in link, with which the unused link ends. Null for the admin key.
ALTER TABLE api_keys ADD COLUMN asked_by TEXT REFERENCES api_keys (id) ON DELETE CASCADE;
CREATE INDEX api_keys_by_creator ON api_keys (asked_by) WHERE asked_by IS NOT NULL;

CREATE INDEX invitations_open ON invitations (created_by) WHERE used_at IS NULL AND revoked_at IS NULL;

-- Never has a row. A write whose sender may not make it any more, or that goes over a limit, inserts the reason
-- here, which fails its batch.
CREATE TABLE access_guard (
  name TEXT NOT NULL,
  CONSTRAINT access_ended CHECK (name <> 'access_ended'),
  CONSTRAINT access_scope CHECK (name <> 'access_scope'),
  CONSTRAINT access_role CHECK (name <> 'access_role'),
  CONSTRAINT access_limited CHECK (name <> 'access_limited'),
  CONSTRAINT access_passkeys CHECK (name <> 'access_passkeys'),
  CONSTRAINT access_identities CHECK (name <> 'access_identities'),
  CONSTRAINT access_invitations CHECK (name <> 'access_invitations'),
  CONSTRAINT access_service_keys CHECK (name <> 'access_service_keys'),
  CONSTRAINT access_rules CHECK (name <> 'access_rules')
);
