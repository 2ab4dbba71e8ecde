-- Raw JSON, cut and masked: of calls from outside, which no trace holds.
ALTER TABLE audit_log ADD COLUMN arguments TEXT;
-- Why a call was refused, as its caller was told.
ALTER TABLE audit_log ADD COLUMN reason TEXT;

-- The audit log only grows (M9). An entry may be completed once: that of an allowed call, with how it
-- ended; everything else about it stays as it was written.
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit_log
WHEN old.outcome IS NOT NULL OR old.decision <> 'allowed' OR new.outcome IS NULL
  OR (new.id, new.account_id, new.activation_id, new.call_id, new.tool, new."grant", new.arguments_hash,
      new.decision, new.created_at, new.arguments, new.reason)
    IS NOT (old.id, old.account_id, old.activation_id, old.call_id, old.tool, old."grant",
      old.arguments_hash, old.decision, old.created_at, old.arguments, old.reason)
BEGIN
  SELECT raise(ABORT, 'audit_log is append-only');
END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit_log
BEGIN
  SELECT raise(ABORT, 'audit_log is append-only');
END;
-- INSERT OR REPLACE deletes without asking the trigger above; what is there stays.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit_log
WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = new.id)
BEGIN
  SELECT raise(IGNORE);
END;

-- The page reads by time, and by tool.
CREATE INDEX audit_by_time ON audit_log (created_at DESC, id DESC);
CREATE INDEX audit_by_tool ON audit_log (tool, created_at DESC, id DESC);
