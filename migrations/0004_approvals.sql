-- Calls that a person must approve before they run (M7). A row holds exactly what would run.
CREATE TABLE approvals (
  -- activation and call, as '<activation>:<call>'; for an outside caller an id of its own
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  -- null for an outside caller, who repeats the call once it is approved
  activation_id TEXT,
  call_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  "grant" TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('read', 'write', 'destructive')),
  -- raw JSON, final
  arguments TEXT NOT NULL,
  arguments_hash TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'denied', 'expired', 'cancelled')),
  -- of an approved one: for this call, or for all of this tool and grant in its activation
  scope TEXT NOT NULL DEFAULT 'once' CHECK (scope IN ('once', 'activation')),
  decided_by TEXT,
  note TEXT NOT NULL DEFAULT '',
  -- the audit entry of the outside call that used it up
  used_by TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decided_at INTEGER
);
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX approvals_new ON approvals (created_at);
CREATE INDEX approvals_of_activation ON approvals (activation_id) WHERE activation_id IS NOT NULL;
CREATE INDEX approvals_outside ON approvals (account_id, tool, arguments_hash, created_at) WHERE activation_id IS NULL;
CREATE UNIQUE INDEX approvals_asked_once ON approvals (account_id, tool, arguments_hash)
  WHERE activation_id IS NULL AND status = 'pending';

-- The LOAD request that resumed a parked activation, so that a repeat finds what the first one did.
ALTER TABLE activations ADD COLUMN resumed_by TEXT;
-- Somebody asked it to stop while it was parked.
ALTER TABLE activations ADD COLUMN cancel_requested_at INTEGER;
CREATE INDEX activations_resumed ON activations (resumed_by) WHERE resumed_by IS NOT NULL;

ALTER TABLE inbox_items ADD COLUMN approval_id TEXT;
CREATE INDEX inbox_of_approval ON inbox_items (approval_id) WHERE approval_id IS NOT NULL;
CREATE INDEX inbox_of_activation ON inbox_items (activation_id) WHERE activation_id IS NOT NULL;

-- JSON lists: which calls need a person's word, and how often a tool may be called.
ALTER TABLE grant_policies ADD COLUMN require_approval TEXT NOT NULL DEFAULT '[]';
ALTER TABLE grant_policies ADD COLUMN rate_limits TEXT NOT NULL DEFAULT '[]';

-- Token buckets of the rate limits that are configured: what is left in each, and when that was.
CREATE TABLE rate_buckets (
  id TEXT PRIMARY KEY,
  tokens REAL NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX rate_buckets_idle ON rate_buckets (updated_at);
