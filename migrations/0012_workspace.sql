-- Accounts may keep files of their own, within quotas, where nobody has changed the default policy.
UPDATE grant_policies
SET allowed = json_insert(allowed, '$[#]', 'workspace:read', '$[#]', 'workspace:write')
WHERE account_id = '*' AND updated_by IS NULL;
