import { memoryLimits } from '../../shared/config'

export const insertTurn =
  'INSERT INTO turns (activation_id, session_id, at, gist, messages, private_to, own_summary, is_untrusted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)'

export const upsertStatistics = "INSERT OR REPLACE INTO kept (key, value) VALUES ('statistics', ?)"

export const upsertSession = `INSERT INTO sessions
    (id, activations, input_tokens, cached_tokens, output_tokens, cost_microusd, created_at, updated_at, last_call)
  VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?6, ?7) ON CONFLICT (id) DO UPDATE SET
    activations = activations + 1, input_tokens = input_tokens + ?2, cached_tokens = cached_tokens + ?3,
    output_tokens = output_tokens + ?4, cost_microusd = cost_microusd + ?5, updated_at = ?6,
    last_call = coalesce(?7, last_call)`

export const listSchemas =
  "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name IN ('sessions', 'turns', 'facts', 'tasks')"

export const listTables = "SELECT name FROM sqlite_master WHERE name IN ('turns', 'facts', 'tasks')"

// A gist of a run that had read untrusted text is left out: in other sessions it would pass as the agent's own.
// Every read takes what is private to nobody and what is private to the reader, who is '' for nobody.
export const selectTurns = `WITH seen AS MATERIALIZED (
    SELECT seq, messages, is_untrusted FROM turns
    WHERE session_id = ?1 AND private_to IN ('', ?2)
      AND seq >= coalesce((SELECT max(seq) FROM turns
        WHERE session_id = ?1 AND private_to = ?2 AND own_summary <> ''), 0)
    ORDER BY seq DESC LIMIT ${memoryLimits.historyTurnsMax})
  SELECT
    coalesce((SELECT summary FROM sessions WHERE id = ?1), '') AS summary,
    coalesce((SELECT own_summary FROM turns WHERE session_id = ?1 AND private_to = ?2
      AND own_summary <> '' ORDER BY seq DESC LIMIT 1), '') AS ownSummary,
    (SELECT json_group_array(messages) FROM (SELECT messages FROM seen ORDER BY seq DESC)) AS history,
    EXISTS (SELECT 1 FROM turns WHERE session_id = ?1 AND private_to <> '' AND private_to = ?2) AS hasPrivate,
    EXISTS (SELECT 1 FROM seen WHERE is_untrusted = 1) AS hasUntrusted,
    (SELECT json_group_array(json_object('at', at, 'gist', gist, 'owner', private_to)) FROM
      (SELECT at, gist, private_to FROM turns
      WHERE session_id <> ?1 AND gist <> '' AND private_to IN ('', ?2) AND is_untrusted = 0
      ORDER BY seq DESC LIMIT ${memoryLimits.latelyMax})) AS recentElsewhere`
