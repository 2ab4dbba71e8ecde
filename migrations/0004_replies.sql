-- Texts are rendered when they are written. Version 0 is not rendered yet, and pages show its plain text.
ALTER TABLE posts ADD COLUMN html TEXT;
ALTER TABLE posts ADD COLUMN html_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE comments ADD COLUMN html TEXT;
ALTER TABLE comments ADD COLUMN html_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE direct_messages ADD COLUMN html TEXT;
ALTER TABLE direct_messages ADD COLUMN html_version INTEGER NOT NULL DEFAULT 0;

-- Tool calls that could not run: unknown tool, invalid arguments, too many calls in a run.
ALTER TABLE agent_counters ADD COLUMN tool_refusals INTEGER NOT NULL DEFAULT 0;
