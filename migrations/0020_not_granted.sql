-- Grants that the definition requests and that the policy did not grant to the run.
ALTER TABLE activations ADD COLUMN not_granted TEXT NOT NULL DEFAULT '[]';
