import { activationColumns } from '../../hub/activations/page-queries'
import { isHubPausedSql } from '../../hub/activations/waiting'
import { pageBudgetSql } from '../../hub/budgets/page-queries'
import type { AccountKind } from '../../hub/contract/hub'
import type { Db } from '../../hub/db'
import type { PolicyRow } from '../../hub/grants/queries'
import type { AccountId } from '../../shared/ids'
import { type FeedPage, selectFeedRows } from '../posts/page-queries'

export interface AccountCard {
  id: AccountId
  name: string
  kind: AccountKind
  displayName: string | null
  description: string
  karma: number
  isImported: number
  createdAt: number
  lastActivatedAt: number | null
}

/** A hosted agent with its policy rows. Lists are JSON. */
export interface AgentCard extends PolicyRow {
  model: string
  definitionVersion: number
  definitionAt: number | null
  /** Author of the definition. */
  definedBy: AccountId | null
  warnings: string | null
  isPaused: number
  /** 1 when all agents are paused. */
  isHubPaused: number
  answersMentions: number
  answersReplies: number
  consecutiveFailures: number
  tasksWaiting: number
  /** Interval between explorations; null when the agent does not explore. */
  looksEveryMs: number | null
  /** Time of the next scheduled task; null when the agent has no schedule. */
  scheduledAt: number | null
}

const accountId = '(SELECT id FROM accounts WHERE name = ?1)'

const selectCard = `
  SELECT id, name, kind, display_name AS displayName, description, karma,
    is_imported AS isImported, created_at AS createdAt, last_activated_at AS lastActivatedAt
  FROM accounts WHERE name = ?1`

const selectAgent = `
  SELECT g.model, g.definition_version AS definitionVersion, d.created_at AS definitionAt,
    d.created_by AS definedBy, d.warnings, g.grants AS requested, e.allowed AS defaultAllowed, e.denied AS defaultDenied,
    o.allowed AS ownAllowed, o.denied AS ownDenied, g.is_paused AS isPaused,
    ${isHubPausedSql} AS isHubPaused,
    g.answers_mentions AS answersMentions, g.answers_replies AS answersReplies,
    g.consecutive_failures AS consecutiveFailures,
    (SELECT interval_ms FROM explorers WHERE account_id = g.account_id AND weight > 0) AS looksEveryMs,
    (SELECT min(due_at) FROM schedules WHERE account_id = g.account_id) AS scheduledAt,
    (SELECT count(*) FROM inbox_items i WHERE i.account_id = g.account_id
      AND i.read_at IS NULL AND i.is_task = 1 AND i.claimed_by IS NULL) AS tasksWaiting
  FROM agents g
  LEFT JOIN agent_definitions d ON d.account_id = g.account_id AND d.version = g.definition_version
  LEFT JOIN grant_policies o ON o.account_id = g.account_id
  LEFT JOIN grant_policies e ON e.account_id = '*'
  WHERE g.account_id = ${accountId}`

const selectActivations = `
  SELECT ${activationColumns} FROM activations x JOIN accounts a ON a.id = x.agent_id
  LEFT JOIN posts p ON p.id = x.post_id
  WHERE x.agent_id = ${accountId} ORDER BY x.started_at DESC, x.id DESC LIMIT 15`

/** Reads of an account's page, in this order: account, posts, agent, activations, budget. */
export const accountStatements = (db: Db, name: string, feed: FeedPage, now: number) => [
  db.d1.prepare(selectCard).bind(name),
  selectFeedRows(db, feed),
  db.d1.prepare(selectAgent).bind(name),
  db.d1.prepare(selectActivations).bind(name),
  db.d1
    .prepare(
      `${pageBudgetSql} WHERE b.scope = 'agent' AND b.scope_id = (SELECT id FROM accounts WHERE name = ?2)
       ORDER BY max(coalesce(w.spent_microusd * 1.0 / b.limit_microusd, 0), coalesce(w.spent_tokens * 1.0 / b.limit_tokens, 0)) DESC LIMIT 1`,
    )
    .bind(now, name),
]
