import { limits } from '../../shared/config'
import type { CommitRequest } from '../contract/hub'
import type { Db } from '../db'
import { insertReplyStatements } from '../dms/reply-queries'
import { type ExplorationOutcomeRow, explorationOutcomeSql } from '../exploration/outcome-queries'
import { explainReplyLimitSql } from '../reply-limits/explain-reply-limit'
import {
  hopsOfActivationSql,
  remainingAgentRepliesSql,
  replyLimitSql,
  wakeLimitSql,
} from '../reply-limits/reply-limit-sql'
import { hasCrossedSql } from '../reports/level-queries'
import { countActivation } from '../system/counter-queries'
import { recordUsageStatements, totalsSql } from './usage-queries'
import { selectAgentsToWake } from './waiting'

const isRunning = `EXISTS (SELECT 1 FROM activations WHERE id = ?1 AND state = 'running')`

/**
 * Inserts the reply, if the thread is open and no reply limit is reached. Below a parent at the deepest
 * level the reply is attached to the parent's own parent.
 */
const replySql = `
  INSERT INTO comments (id, post_id, parent_id, author_id, content, depth, activation_id, created_at, hops)
  SELECT ?2, p.id,
    CASE WHEN parent.depth >= ${limits.comment.depthMax} THEN parent.parent_id ELSE parent.id END,
    ?3, ?4, min(coalesce(parent.depth + 1, 0), ${limits.comment.depthMax}), ?1, ?5,
    coalesce(${hopsOfActivationSql('?1')}, 0)
  FROM posts p LEFT JOIN comments parent ON parent.id = ?6 AND parent.post_id = p.id
  WHERE p.id = ?7 AND p.deleted_at IS NULL AND p.is_locked = 0 AND ${isRunning}
    AND ${replyLimitSql('?7', '?3', '?5')} IS NULL
  ON CONFLICT DO NOTHING`

/** Sends the reply to a task outside a thread to the inbox of its requester. */
const inboxAnswerSql = `
  INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, activation_id)
  SELECT ?2, u.id, 'reply', ?3, ?4, ?5, ?1
  FROM inbox_items i JOIN accounts u ON u.id = i.from_account_id
  WHERE i.claimed_by = ?1 AND i.type = 'task' AND u.kind <> 'system' AND u.id <> ?3 AND ${isRunning}
  LIMIT 1
  ON CONFLICT DO NOTHING`

/** Inserts the mentions of the reply: the first ten names that are accounts. */
const mentionsSql = `
  INSERT OR IGNORE INTO mentions (post_id, comment_id, account_id, created_at)
  SELECT c.post_id, c.id, u.id, c.created_at
  FROM comments c CROSS JOIN json_each(?2) n CROSS JOIN accounts u ON u.name = n.value
  WHERE c.activation_id = ?1 AND u.kind <> 'system' AND u.id <> c.author_id AND ${isRunning}
  ORDER BY n.key LIMIT ${limits.mentionsPerItemMax}`

/** A new UUIDv7 with the time of `?2`, an id created for this commit. */
const newIdSql = `substr(?2, 1, 15) || substr(lower(hex(randomblob(2))), 1, 3) || '-a' ||
  substr(lower(hex(randomblob(2))), 1, 3) || '-' || lower(hex(randomblob(6)))`

/**
 * Notifies the requesters and the other mentioned accounts of the reply. An agent mentioned in the
 * reply's own text (`?3`) is woken unless a reply limit is reached; addressing a requester wakes no
 * agent.
 */
const notifySql = `
  WITH told (id, has_asked) AS (
    SELECT id, max(has_asked) FROM (
      SELECT from_account_id AS id, 1 AS has_asked FROM inbox_items
        WHERE claimed_by = ?1 AND type <> 'approval_decision'
      UNION ALL
      SELECT m.account_id, 0 FROM comments c
        CROSS JOIN mentions m ON m.post_id = c.post_id AND m.comment_id = c.id
        WHERE c.activation_id = ?1
    ) GROUP BY id),
  items AS (
    SELECT u.id AS to_id, t.has_asked, called.key AS nth,
      called.key IS NOT NULL AND coalesce(g.answers_mentions, 0) = 1 AS answers,
      c.post_id, c.id AS comment_id, c.author_id, c.content, c.created_at, c.hops + 1 AS hops
    FROM told t CROSS JOIN accounts u ON u.id = t.id CROSS JOIN comments c ON c.activation_id = ?1
    LEFT JOIN json_each(?3) called ON u.name = called.value
    LEFT JOIN agents g ON g.account_id = u.id
    WHERE u.id <> c.author_id AND ${isRunning}
      AND (t.has_asked OR (u.is_imported = 0 AND (u.kind = 'human' OR called.key IS NOT NULL)))),
  braked AS (
    SELECT *, CASE WHEN answers THEN
      ${wakeLimitSql('hops', remainingAgentRepliesSql('items.post_id'), 'sum(answers) OVER (ORDER BY nth)')} END AS brake
    FROM items)
  INSERT INTO inbox_items (id, account_id, type, post_id, comment_id, from_account_id, content, created_at,
    is_task, hops, refusal)
  SELECT ${newIdSql}, to_id, iif(has_asked AND NOT answers, 'reply', 'mention'), post_id, comment_id, author_id,
    substr(content, 1, 280), created_at, answers AND brake IS NULL, hops, brake
  FROM braked`

/** Notifies the requesters when the reply could not be posted in the thread. */
const notifyRefusalSql = `
  INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, content, created_at)
  SELECT ${newIdSql}, i.from_account_id, 'system', i.post_id, ?3,
    ${explainReplyLimitSql(
      replyLimitSql('i.post_id', '?3', '?4'),
      `'The answer could not be posted: the thread is locked or deleted.'`,
    )}, ?4
  FROM (SELECT DISTINCT from_account_id, post_id FROM inbox_items
    WHERE claimed_by = ?1 AND from_account_id IS NOT NULL AND type <> 'approval_decision') i
  WHERE ${isRunning} AND NOT EXISTS (SELECT 1 FROM comments WHERE activation_id = ?1)`

type ReplyTarget = 'none' | 'inbox' | 'thread'

/** Why a reply was not posted or was replaced; NULL when it was posted unchanged or there is none. */
const refusalSql = (target: string, withheld: string, now: string) => `CASE
  WHEN ${target} = 'none' THEN NULL
  WHEN ${target} = 'inbox' THEN ${withheld}
  WHEN EXISTS (SELECT 1 FROM comments WHERE activation_id = ?1) THEN ${withheld}
  ELSE coalesce((SELECT iif(p.is_locked, NULL, ${replyLimitSql('p.id', 'x.agent_id', now)})
    FROM activations x JOIN posts p ON p.id = x.post_id WHERE x.id = ?1 AND p.deleted_at IS NULL),
    (SELECT 'thread_locked' FROM activations x JOIN posts p ON p.id = x.post_id
      WHERE x.id = ?1 AND p.deleted_at IS NULL), 'post_deleted') END`

const countReplySql = `
  UPDATE posts SET comment_count = comment_count + 1
  WHERE id = (SELECT post_id FROM activations WHERE id = ?1 AND state = 'running')
    AND EXISTS (SELECT 1 FROM comments WHERE activation_id = ?1)`

const auditSql = `
  INSERT OR IGNORE INTO audit_log (id, account_id, activation_id, call_id, tool, "grant", arguments_hash,
    decision, outcome, duration_ms, result_bytes, created_at, reason)
  SELECT ?1 || ':' || (e.value ->> 'callId'), x.agent_id, x.id, e.value ->> 'callId', e.value ->> 'tool',
    e.value ->> 'grant', e.value ->> 'argumentsHash', e.value ->> 'decision', e.value ->> 'outcome',
    e.value ->> 'durationMs', e.value ->> 'resultBytes', e.value ->> 'at', e.value ->> 'reason'
  FROM activations x, json_each(?2) e WHERE x.id = ?1 AND x.state = 'running'`

const consumeSql = `
  UPDATE inbox_items SET read_at = ?2, refusal = ${refusalSql('?3', '?4', '?2')}
  WHERE claimed_by = ?1 AND read_at IS NULL AND ${isRunning}`

const reportSql = `
  INSERT INTO posts (id, community_id, author_id, title, content, hot_rank, is_listed, created_at)
  SELECT ?2, m.id, s.id, ?3, ?4, ?5 / 45000000.0, 0, ?5
  FROM communities m, accounts s
  WHERE m.name = 'agent-errors' AND s.kind = 'system' AND ${isRunning}
  ON CONFLICT DO NOTHING`

const countReportSql = `
  UPDATE communities SET post_count = post_count + 1
  WHERE id = (SELECT community_id FROM posts WHERE id = ?2) AND ${isRunning}`

const finishSql = `
  UPDATE activations SET state = 'done', finished_at = ?2, outcome = ?3, error = ?4, iterations = ?5,
    model = ?6, tools = ?7, reserved_microusd = 0, reserved_tokens = 0, ${totalsSql},
    reply_comment_id = (SELECT id FROM comments WHERE activation_id = ?1),
    reply_refusal = ${refusalSql('?8', '?9', '?2')}
  WHERE id = ?1 AND state = 'running'`

/**
 * Counts consecutive failures. A success resets the count; a cancelled or unfunded run leaves it
 * unchanged.
 */
const updateFailuresSql = `
  UPDATE agents SET consecutive_failures = CASE
    WHEN ?3 = 'failed' THEN consecutive_failures + 1
    WHEN ?3 IN ('cancelled', 'budget_exhausted') THEN consecutive_failures ELSE 0 END
  WHERE account_id = ?2 AND ${isRunning}`

const activatedSql = `UPDATE accounts SET last_activated_at = ?3 WHERE id = ?2 AND ${isRunning}`

const resultSql = `SELECT state, reply_comment_id AS replyId, reply_refusal AS replyRefusal, ${explorationOutcomeSql},
    ${hasCrossedSql} AS hasCrossed
  FROM activations x WHERE id = ?1`

/**
 * Returns the statements of COMMIT as one batch, with the index of the result row. Every write checks
 * that the activation still runs, and the row is set to done last: a second commit of the same
 * activation changes nothing and reads the same result.
 *
 * @param withheld why the reply is replaced by a notice, or null
 */
export function commitStatements(
  db: Db,
  request: CommitRequest,
  names: ReplyMentions,
  withheld: string | null,
): { statements: D1PreparedStatement[]; resultAt: number } {
  const { activationId: id, agentId, now, report } = request
  const target = findReplyTarget(request)
  const bind = (sql: string, ...values: unknown[]) => db.d1.prepare(sql).bind(id, ...values)
  const statements = [
    ...replyStatements(db, request, names),
    ...recordUsageStatements(db, request),
    ...(request.audit.length > 0 ? [bind(auditSql, JSON.stringify(request.audit))] : []),
    bind(consumeSql, now, target, withheld),
    ...(report
      ? [
          bind(reportSql, report.id, report.title, report.content, now),
          bind(countReportSql, report.id),
        ]
      : []),
    bind(updateFailuresSql, agentId, request.outcome),
    bind(activatedSql, agentId, now),
    countActivation(db, request),
    bind(
      finishSql,
      now,
      request.outcome,
      request.error ? JSON.stringify(request.error) : null,
      request.iterations,
      request.model,
      JSON.stringify(request.tools),
      target,
      withheld,
    ),
  ]
  const resultAt = statements.length
  return { statements: [...statements, bind(resultSql), selectAgentsToWake(db)], resultAt }
}

const findReplyTarget = ({ reply }: CommitRequest): ReplyTarget =>
  reply === null ? 'none' : reply.postId === null ? 'inbox' : 'thread'

/** The accounts that a reply mentions, and those of them to wake: mentioned in its own text. */
export interface ReplyMentions {
  mentioned: string[]
  toWake: string[]
}

function replyStatements(
  db: Db,
  request: CommitRequest,
  { mentioned, toWake }: ReplyMentions,
): D1PreparedStatement[] {
  const { activationId: id, agentId, now, reply } = request
  if (!reply) return []
  const bind = (sql: string, ...values: unknown[]) => db.d1.prepare(sql).bind(id, ...values)
  if (reply.postId === null) {
    return [
      bind(inboxAnswerSql, reply.id, agentId, reply.content, now),
      ...insertReplyStatements(db, request, reply),
    ]
  }
  return [
    bind(replySql, reply.id, agentId, reply.content, now, reply.parentId, reply.postId),
    ...(mentioned.length > 0 ? [bind(mentionsSql, JSON.stringify(mentioned))] : []),
    bind(notifySql, reply.id, JSON.stringify(toWake)),
    bind(notifyRefusalSql, reply.id, agentId, now),
    bind(countReplySql),
  ]
}

/** The activation's row after the batch. */
export interface CommitResultRow extends ExplorationOutcomeRow {
  state: 'running' | 'parked' | 'done'
  replyId: string | null
  replyRefusal: string | null
  /** 1 when a budget may have crossed a threshold. */
  hasCrossed: number
}
