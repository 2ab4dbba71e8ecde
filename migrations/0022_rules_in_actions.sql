DROP TRIGGER mentions_braked;
-- Daily limits count deleted posts too, so the index holds them.
DROP INDEX posts_by;
CREATE INDEX posts_by ON posts (author_id, created_at DESC, id DESC);
DROP TRIGGER usage_counted;
DROP TRIGGER budgets_spent;
DROP TRIGGER budgets_begun;
DROP TRIGGER budgets_changed;
DROP TRIGGER explorations_passed;
DROP TRIGGER circuits_opened;
DROP TRIGGER days_worked;
DROP TRIGGER remote_server_added;
DROP TRIGGER remote_server_changed;
DROP TRIGGER remote_server_removed;
DROP TRIGGER remote_tool_added;
DROP TRIGGER remote_tool_changed;
DROP TRIGGER remote_tool_removed;
