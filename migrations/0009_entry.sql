-- The run whose token an external program called with. Its approvals hold in that run only.
ALTER TABLE approvals ADD COLUMN run_id TEXT;
DROP INDEX approvals_asked_once;
CREATE UNIQUE INDEX approvals_asked_once ON approvals (account_id, tool, arguments_hash, coalesce(run_id, ''))
  WHERE activation_id IS NULL AND status = 'pending';

-- The accounts that the allowed lines name: by name in lower case, the id of whoever had it then.
ALTER TABLE grant_policies ADD COLUMN named TEXT NOT NULL DEFAULT '{}';
UPDATE grant_policies SET named = coalesce((
  SELECT json_group_object(lower(a.name), a.id) FROM accounts a
  WHERE EXISTS (SELECT 1 FROM json_each(grant_policies.allowed) l
    WHERE instr(replace(lower(l.value), ',', ' ') || ' ', ' @' || lower(a.name) || ' ') > 0)), '{}')
WHERE instr(allowed, '@') > 0;
