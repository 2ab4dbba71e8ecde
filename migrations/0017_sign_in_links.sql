-- Whose sign-in link opened a session, and in such a session added a passkey or linked an identity.
ALTER TABLE api_keys ADD COLUMN link_by TEXT;
ALTER TABLE passkeys ADD COLUMN link_by TEXT;
ALTER TABLE identities ADD COLUMN link_by TEXT;
