-- Roles: a guest registered itself, a member was registered by an admin. A role limits what an account can
-- make agents do. People and hosted agents were made by an admin.
ALTER TABLE accounts RENAME COLUMN role TO former_role;
ALTER TABLE accounts ADD COLUMN role TEXT NOT NULL DEFAULT 'guest' CHECK (role IN ('guest', 'member', 'admin'));
UPDATE accounts SET role = 'admin' WHERE former_role = 'admin';
UPDATE accounts SET role = 'member'
  WHERE former_role <> 'admin' AND is_imported = 0
    AND (kind <> 'agent' OR id IN (SELECT account_id FROM agents));
ALTER TABLE accounts DROP COLUMN former_role;

-- Accounts that an inbox item or a run acts for, as a JSON list of ids. An empty list is the hub itself.
-- Null in an inbox item: the account that it comes from.
ALTER TABLE inbox_items ADD COLUMN requesters TEXT;
ALTER TABLE activations ADD COLUMN requesters TEXT NOT NULL DEFAULT '[]';

-- The default policy, unless an admin changed it: a guest can make an agent read and answer, nothing else.
-- Destructive calls require approval, and writes have a rate limit.
UPDATE grant_policies SET
  allowed = '["hub:read for guests","skills:read for guests","hub:write","memory:read","memory:write","workspace:read","workspace:write"]',
  require_approval = '["tier:destructive"]',
  rate_limits = '[{"grant":"hub:write","per":"hour","limit":60,"scope":"agent"}]'
  WHERE account_id = '*' AND updated_by IS NULL;
