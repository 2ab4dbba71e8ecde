-- Calls that need no approval any more, because somebody who decides approvals said so for a time. Who could not approve any longer has no rules.
CREATE TABLE standing_rules (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES accounts (id),
  tool TEXT NOT NULL,
  "grant" TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('read', 'write', 'destructive')),
  arguments TEXT NOT NULL,
  tool_hash TEXT NOT NULL,
  community_id TEXT REFERENCES communities (id),
  requester_id TEXT REFERENCES accounts (id),
  activation_id TEXT,
  created_by TEXT NOT NULL REFERENCES accounts (id),
  created_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  ended TEXT CHECK (ended IN ('revoked', 'creator'))
);
CREATE INDEX standing_rules_for ON standing_rules (agent_id, tool) WHERE ended IS NULL;
CREATE INDEX standing_rules_by ON standing_rules (created_by) WHERE ended IS NULL;
CREATE INDEX standing_rules_new ON standing_rules (created_at DESC, id DESC);

CREATE TRIGGER standing_rules_end_with_role AFTER UPDATE OF role, disabled_at, deleted_at ON accounts
WHEN new.role <> 'admin' OR new.disabled_at IS NOT NULL OR new.deleted_at IS NOT NULL
BEGIN
  UPDATE standing_rules SET ended = 'creator' WHERE created_by = new.id AND ended IS NULL;
END;

CREATE TRIGGER standing_rules_end_with_ban AFTER INSERT ON bans WHEN new.community_id IS NULL
BEGIN
  UPDATE standing_rules SET ended = 'creator' WHERE created_by = new.account_id AND ended IS NULL;
END;

-- Why a call requires approval: the entries of the policy, and what the run has read.
ALTER TABLE approvals ADD COLUMN reasons TEXT NOT NULL DEFAULT '[]';

-- The rule that allowed the call.
ALTER TABLE audit_log ADD COLUMN rule_id TEXT;
CREATE INDEX audit_by_rule ON audit_log (rule_id, created_at) WHERE rule_id IS NOT NULL;

DROP TRIGGER audit_is_final;
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit_log
WHEN (old.outcome IS NOT NULL OR old.decision <> 'allowed' OR new.outcome IS NULL
    OR (new.id, new.account_id, new.activation_id, new.call_id, new.tool, new."grant", new.arguments_hash,
        new.decision, new.created_at, new.arguments, new.reason, new.rule_id)
      IS NOT (old.id, old.account_id, old.activation_id, old.call_id, old.tool, old."grant",
        old.arguments_hash, old.decision, old.created_at, old.arguments, old.reason, old.rule_id))
  AND (new.arguments IS NOT NULL
    OR (new.id, new.account_id, new.activation_id, new.call_id, new.tool, new."grant", new.arguments_hash,
        new.decision, new.outcome, new.duration_ms, new.result_bytes, new.created_at, new.reason, new.rule_id)
      IS NOT (old.id, old.account_id, old.activation_id, old.call_id, old.tool, old."grant",
        old.arguments_hash, old.decision, old.outcome, old.duration_ms, old.result_bytes, old.created_at,
        old.reason, old.rule_id))
BEGIN
  SELECT raise(ABORT, 'audit_log is append-only');
END;
