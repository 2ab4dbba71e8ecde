-- Whether a run used the account that its requester connected: then its trace is private to the requester.
ALTER TABLE activations ADD COLUMN uses_own_account INTEGER NOT NULL DEFAULT 0;
