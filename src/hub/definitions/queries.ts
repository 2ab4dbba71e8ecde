import type { DefinitionFacts } from '../../agents/contract/agents'
import type { AccountId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'
import type { Db } from '../db'

/** The account that has the name of a definition. */
export interface NamedAccount {
  id: AccountId
  kind: AccountKind
  isImported: number
  /** 1 for an agent that runs on this hub. */
  isHosted: number
  /** 1 when the account has unexpired keys. */
  hasKeys: number
}

export const selectNamedAccount = (db: Db, name: string, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT a.id, a.kind, a.is_imported AS isImported,
              EXISTS (SELECT 1 FROM agents g WHERE g.account_id = a.id) AS isHosted,
              EXISTS (SELECT 1 FROM api_keys k WHERE k.account_id = a.id
                      AND (k.expires_at IS NULL OR k.expires_at > ?2)) AS hasKeys
       FROM accounts a WHERE a.name = ?1`,
    )
    .bind(name, now)

/** Inserts a new version, unless the newest version has the same etag. */
export const insertDefinition = (
  db: Db,
  agentId: AccountId,
  facts: DefinitionFacts,
  by: AccountId,
  now: number,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO agent_definitions (account_id, version, etag, warnings, created_by, created_at)
       SELECT ?1, coalesce((SELECT max(version) FROM agent_definitions WHERE account_id = ?1), 0) + 1, ?2, ?3, ?4, ?5
       WHERE coalesce((SELECT etag FROM agent_definitions WHERE account_id = ?1 ORDER BY version DESC LIMIT 1), '') <> ?2`,
    )
    .bind(agentId, facts.etag, JSON.stringify(facts.warnings), by, now)

/** Makes the newest definition the active version, used from the agent's next activation on. */
export const upsertAgent = (
  db: Db,
  agentId: AccountId,
  facts: DefinitionFacts,
  now: number,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO agents (account_id, definition_version, definition_etag, model, grants, answers_mentions,
         answers_replies, duration_seconds_max, call_floor_microusd, call_floor_tokens, call_want_microusd,
         call_want_tokens, answers_dms, daily_posts_max, daily_comments_max, responses_per_thread_max, interval_ms,
         updated_at, models, priority, activation_tokens_max)
       VALUES (?1, (SELECT max(version) FROM agent_definitions WHERE account_id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
       ON CONFLICT (account_id) DO UPDATE SET
         definition_version = excluded.definition_version, definition_etag = excluded.definition_etag,
         model = excluded.model, grants = excluded.grants, answers_mentions = excluded.answers_mentions,
         answers_replies = excluded.answers_replies, duration_seconds_max = excluded.duration_seconds_max,
         call_floor_microusd = excluded.call_floor_microusd, call_floor_tokens = excluded.call_floor_tokens,
         call_want_microusd = excluded.call_want_microusd, call_want_tokens = excluded.call_want_tokens,
         answers_dms = excluded.answers_dms, daily_posts_max = excluded.daily_posts_max,
         daily_comments_max = excluded.daily_comments_max,
         responses_per_thread_max = excluded.responses_per_thread_max, interval_ms = excluded.interval_ms,
         updated_at = excluded.updated_at, models = excluded.models, priority = excluded.priority,
         activation_tokens_max = excluded.activation_tokens_max`,
    )
    .bind(
      agentId,
      facts.etag,
      facts.model,
      JSON.stringify(facts.grants),
      Number(facts.answersMentions),
      Number(facts.answersReplies),
      facts.durationSecondsMax,
      facts.callFloor.microusd,
      facts.callFloor.tokens,
      facts.callWant.microusd,
      facts.callWant.tokens,
      Number(facts.answersDms),
      facts.writing.dailyPostsMax,
      facts.writing.dailyCommentsMax,
      facts.writing.responsesPerThreadMax,
      facts.writing.intervalMs,
      now,
      JSON.stringify(facts.models),
      facts.priority,
      facts.activationTokensMax,
    )

export interface DefinitionRow {
  agentId: AccountId
  name: string
  version: number
  etag: string
  warnings: string
  model: string
  grants: string
  isPaused: number
  createdAt: number
}

/** Selects the active definition of an agent. */
export const selectDefinition = (db: Db, name: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT a.id AS agentId, a.name, d.version, d.etag, d.warnings, g.model, g.grants, g.is_paused AS isPaused,
              d.created_at AS createdAt
       FROM accounts a JOIN agents g ON g.account_id = a.id
       JOIN agent_definitions d ON d.account_id = a.id AND d.version = g.definition_version
       WHERE a.name = ?1`,
    )
    .bind(name)
