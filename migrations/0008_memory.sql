-- Agents may use their own memory and read their own skills, where nobody has changed the default policy.
UPDATE grant_policies
SET allowed = json_insert(allowed, '$[#]', 'memory:read', '$[#]', 'memory:write', '$[#]', 'skills:read')
WHERE account_id = '*' AND updated_by IS NULL;
