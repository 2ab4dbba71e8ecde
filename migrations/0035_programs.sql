-- The coding agent that worked on a run. Null for a run of the hub itself.
ALTER TABLE activations ADD COLUMN program TEXT;
