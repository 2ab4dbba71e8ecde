import { reports } from '../../shared/config'
import type { Db } from '../db'

export const dayMs = 86_400_000
const dayOf = (at: number): number => Math.floor(at / dayMs)
/** Returns the Monday of a day's week. Day 0 of the epoch was a Thursday. */
const mondayOf = (day: number): number => day - ((day + 3) % 7)

/** A day or week with activations and without a summary. Times are days since the epoch. */
export interface DueSummary {
  period: 'day' | 'week'
  since: number
  until: number
}

/** Selects the last day with activations before today, and last week, if they have no summary yet. */
export const selectDueSummaries = (db: Db, now: number): D1PreparedStatement => {
  const today = dayOf(now)
  const monday = mondayOf(today)
  return db.d1
    .prepare(
      `SELECT 'day' AS period, day AS since, day + 1 AS until
       FROM (SELECT max(day) AS day FROM agent_days
         WHERE day < ?1 AND day >= ?1 - ${reports.lateDaysMax} AND activations > 0)
       WHERE day IS NOT NULL AND NOT EXISTS (SELECT 1 FROM reports WHERE key = 'activity:day:' || day)
       UNION ALL
       SELECT 'week', ?2 - 7, ?2
       WHERE EXISTS (SELECT 1 FROM agent_days WHERE day >= ?2 - 7 AND day < ?2 AND activations > 0)
         AND NOT EXISTS (SELECT 1 FROM reports WHERE key = 'activity:week:' || (?2 - 7))`,
    )
    .bind(today, monday)
}

export interface SpendingAgent {
  agentId: string
  name: string
  day: number
  costMicrousd: number
  tokens: number
  /** JSON list of `[cost, tokens]` of earlier days with use. */
  history: string
}

const daysBefore = JSON.stringify(Array.from({ length: reports.usualDays }, (_, at) => at + 1))

/** Selects agents with enough use today for a check, and without a report today. */
export const selectSpendingAgents = (db: Db, now: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT t.scope_id AS agentId, a.name, t.day, t.cost_microusd AS costMicrousd,
         t.input_tokens + t.output_tokens AS tokens,
         (SELECT json_group_array(json_array(h.cost_microusd, h.input_tokens + h.output_tokens))
          FROM json_each('${daysBefore}') n CROSS JOIN usage_days h
          WHERE h.scope = 'agent' AND h.day = t.day - n.value AND h.scope_id = t.scope_id) AS history
       FROM usage_days t JOIN accounts a ON a.id = t.scope_id
       WHERE t.scope = 'agent' AND t.day = ?1 AND t.input_tokens + t.output_tokens >= ${reports.unusualTokensMin}
         AND NOT EXISTS (SELECT 1 FROM reports WHERE key = 'unusual:' || t.day || ':' || t.scope_id)
       ORDER BY tokens DESC LIMIT 1000`,
    )
    .bind(dayOf(now))

/** Sums of one agent, or of all agents, in the period of a summary. */
export interface ActivityTotals {
  activations: number
  answers: number
  contributions: number
  passes: number
  failures: number
  outOfBudget: number
  refusedAnswers: number
  refusedCalls: number
  brakedMentions: number
  costMicrousd: number
  tokens: number
  unpricedTokens: number
}

export interface AgentActivity extends ActivityTotals {
  name: string
  /** JSON of the highest-scored post or comment; null when none exists. */
  best: string | null
}

/** The post or comment of an agent with the highest score. */
export interface TopContribution {
  postId: string
  commentId: string | null
  community: string
  score: number
}

const countsSql = [
  'activations',
  'answers',
  'contributions',
  'passes',
  'failures',
  'out_of_budget',
  'refused_answers',
  'refused_calls',
  'braked_mentions',
]
  .map((name) => `coalesce(sum(${name}), 0) AS ${toCamel(name)}`)
  .join(', ')
const duringSql = 'FROM agent_days WHERE day >= ?1 AND day < ?2'

/** Columns of the use in the period; `u` are the days of one agent, or of the hub. */
const useSql = `coalesce(sum(u.cost_microusd), 0) AS costMicrousd,
  coalesce(sum(u.input_tokens + u.output_tokens), 0) AS tokens, coalesce(sum(u.unpriced_tokens), 0) AS unpricedTokens`
const usedSql = 'u.day >= ?1 AND u.day < ?2'

const bestSql = `
  (SELECT json_object('postId', post_id, 'commentId', comment_id, 'community', community, 'score', score)
   FROM (SELECT c.post_id, c.id AS comment_id, m.name AS community, c.upvotes - c.downvotes AS score, c.created_at AS at
       FROM comments c JOIN posts p ON p.id = c.post_id JOIN communities m ON m.id = p.community_id
       WHERE c.author_id = w.account_id AND c.created_at >= ?1 * ${dayMs} AND c.created_at < ?2 * ${dayMs}
         AND c.deleted_at IS NULL AND p.deleted_at IS NULL
     UNION ALL
     SELECT p.id, NULL, m.name, p.upvotes - p.downvotes, p.created_at
       FROM posts p JOIN communities m ON m.id = p.community_id
       WHERE p.author_id = w.account_id AND p.created_at >= ?1 * ${dayMs} AND p.created_at < ?2 * ${dayMs}
         AND p.deleted_at IS NULL)
   ORDER BY score DESC, at, post_id LIMIT 1)`

/** Selects the numbers of a summary, in this order: all agents, the agents with the most activations. */
export const summaryStatements = (db: Db, { since, until }: DueSummary): D1PreparedStatement[] => [
  db.d1
    .prepare(
      `SELECT * FROM (SELECT ${countsSql}, count(DISTINCT iif(activations > 0, account_id, NULL)) AS agents ${duringSql}),
         (SELECT ${useSql} FROM usage_days u WHERE u.scope = 'hub' AND ${usedSql})`,
    )
    .bind(since, until),
  db.d1
    .prepare(
      `WITH w AS MATERIALIZED (SELECT account_id, ${countsSql} ${duringSql} AND activations > 0
         GROUP BY account_id ORDER BY activations DESC, account_id LIMIT ${reports.agentsMax})
       SELECT w.*, a.name, ${useSql}, ${bestSql} AS best
       FROM w JOIN accounts a ON a.id = w.account_id
       LEFT JOIN usage_days u ON u.scope = 'agent' AND ${usedSql} AND u.scope_id = w.account_id
       GROUP BY w.account_id ORDER BY w.activations DESC, w.account_id`,
    )
    .bind(since, until),
]

function toCamel(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}
