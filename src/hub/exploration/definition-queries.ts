import type { DefinitionFacts } from '../../agents/contract/agents'
import type { AccountId } from '../../shared/ids'
import type { Db } from '../db'
import { toMatch } from './to-match'

/**
 * Stores exploration and schedules of an agent's definition. An agent that no longer explores keeps its
 * row with a weight of 0, so that the next sweep reports the change to the scheduler.
 */
export const putExplorationStatements = (
  db: Db,
  agentId: AccountId,
  { exploration: facts, schedules }: DefinitionFacts,
  now: number,
): D1PreparedStatement[] => [
  db.d1
    .prepare(
      `INSERT INTO explorers (account_id, weight, interval_ms, min_confidence, communities, follows, words, match,
         wants_questions, wants_discussions, updated_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
       ON CONFLICT (account_id) DO UPDATE SET weight = excluded.weight, interval_ms = excluded.interval_ms,
         min_confidence = excluded.min_confidence, communities = excluded.communities, follows = excluded.follows,
         words = excluded.words, match = excluded.match, wants_questions = excluded.wants_questions,
         wants_discussions = excluded.wants_discussions, updated_at = excluded.updated_at`,
    )
    .bind(
      agentId,
      facts?.weight ?? 0,
      facts?.intervalMs ?? 0,
      facts?.minConfidence ?? 0,
      JSON.stringify(facts?.communities ?? []),
      JSON.stringify(facts?.follows ?? []),
      JSON.stringify(facts?.words ?? []),
      toMatch(facts?.words ?? []),
      Number(facts?.wantsQuestions ?? true),
      Number(facts?.wantsDiscussions ?? true),
      now,
    ),
  db.d1
    .prepare(
      `DELETE FROM schedules WHERE account_id = ?1
         AND key NOT IN (SELECT value ->> 'key' FROM json_each(?2))`,
    )
    .bind(agentId, JSON.stringify(schedules)),
  // With a due time of 0 the scheduler computes the first due time.
  db.d1
    .prepare(
      `INSERT OR IGNORE INTO schedules (account_id, key, cron, timezone, task, due_at)
       SELECT ?1, value ->> 'key', value ->> 'cron', value ->> 'timezone', value ->> 'task', 0
       FROM json_each(?2)`,
    )
    .bind(agentId, JSON.stringify(schedules)),
]
