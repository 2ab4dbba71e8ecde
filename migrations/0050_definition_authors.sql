-- Counts the versions that a member has saved within a day.
CREATE INDEX agent_definitions_by_author ON agent_definitions (created_by, created_at);
