import { scheduling } from '../../config'
import { budgetsInScopeSql, roomSql } from '../budgets/queries'
import type { LoadRequest } from '../contract'
import type { Db } from '../db'
import { selectPolicy } from '../grants/queries'

/** The newest comments shown to an agent besides the path to the ones that ask. */
const newestCommentsMax = 50
/** More mentions than this in one thread wait for the next activation. */
const itemsPerActivationMax = 20

/** Whether an admin paused all agents (H21). */
export const isHubPausedSql = `EXISTS (SELECT 1 FROM settings WHERE key = 'paused' AND value = 'true')`

/**
 * Admission in one statement (L37): the row is inserted when a task waits, nothing is paused, the
 * agent does not run, the hub has capacity, and money is free. When money is gone rather than
 * merely reserved by others, the row is inserted without a reservation, so that the agent can say
 * so politely. `?1` activation, `?2` agent, `?3` now, `?4` capacity.
 */
const claimSql = `
  INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model,
    definition_version, started_at, deadline_at, reserved_microusd, reserved_tokens)
  SELECT ?1, a.account_id, 'inbox', first.type, 'running',
    CASE WHEN isExhausted THEN 'budget_exhausted' ELSE 'granted' END,
    first.post_id, a.model, a.definition_version, ?3,
    ?3 + a.duration_seconds_max * 1000 + ${scheduling.deadlineGraceMs},
    CASE WHEN isExhausted THEN 0 ELSE min(a.call_want_microusd, a.freeMicrousd) END,
    CASE WHEN isExhausted THEN 0 ELSE min(a.call_want_tokens, a.freeTokens) END
  FROM (
    SELECT a.*, room.freeMicrousd, room.freeTokens,
      (room.leftMicrousd < a.call_floor_microusd OR room.leftTokens < a.call_floor_tokens) AS isExhausted
    FROM agents a, (${roomSql}) room WHERE a.account_id = ?2
  ) AS a,
  (SELECT type, post_id FROM inbox_items
    WHERE account_id = ?2 AND read_at IS NULL AND is_task = 1 AND claimed_by IS NULL
    ORDER BY created_at, id LIMIT 1) AS first
  WHERE a.is_paused = 0
    AND NOT ${isHubPausedSql}
    AND NOT EXISTS (SELECT 1 FROM activations WHERE id = ?1 OR (agent_id = ?2 AND state = 'running'))
    AND (SELECT count(*) FROM activations WHERE state = 'running') < ?4
    AND (isExhausted OR (a.freeMicrousd >= a.call_floor_microusd AND a.freeTokens >= a.call_floor_tokens))`

/**
 * Only the LOAD that inserted the row claims: a repeat that comes late must not claim what its run
 * was never told of. `?1` activation, `?2` agent.
 */
const claimItemsSql = `
  UPDATE inbox_items SET claimed_by = ?1 WHERE id IN (
    SELECT i.id FROM inbox_items i JOIN activations x ON x.id = ?1 AND x.state = 'running'
    WHERE i.account_id = ?2 AND i.read_at IS NULL AND i.is_task = 1 AND i.claimed_by IS NULL
      AND i.post_id IS x.post_id
      AND NOT EXISTS (SELECT 1 FROM inbox_items WHERE claimed_by = ?1)
    ORDER BY i.created_at, i.id LIMIT ${itemsPerActivationMax})`

const stateSql = `
  SELECT c.name, c.kind, c.description, a.definition_version AS version, a.definition_etag AS etag,
    a.is_paused AS isPaused, x.id AS activationId, x.state, x.admission, x.task,
    x.post_id AS postId, x.deadline_at AS deadlineAt,
    x.reserved_microusd AS reservedMicrousd, x.reserved_tokens AS reservedTokens,
    other.id AS otherId, other.deadline_at AS otherDeadlineAt,
    other.reserved_microusd AS otherMicrousd, other.reserved_tokens AS otherTokens,
    ${isHubPausedSql} AS isHubPaused,
    (SELECT count(*) FROM activations WHERE state = 'running') AS running,
    (SELECT count(*) FROM inbox_items WHERE account_id = ?2 AND read_at IS NULL AND is_task = 1
      AND claimed_by IS NULL) AS inboxDepth
  FROM agents a JOIN accounts c ON c.id = a.account_id
  LEFT JOIN activations x ON x.id = ?1
  LEFT JOIN activations other ON other.agent_id = ?2 AND other.state = 'running' AND other.id <> ?1
  WHERE a.account_id = ?2`

const itemsSql = `
  SELECT i.id, i.type, i.post_id AS postId, i.comment_id AS commentId, i.content, i.created_at AS createdAt,
    f.id AS fromId, f.name AS fromName, f.kind AS fromKind
  FROM inbox_items i LEFT JOIN accounts f ON f.id = i.from_account_id
  WHERE i.claimed_by = ?1 ORDER BY i.created_at, i.id`

const postSql = `
  SELECT p.id, m.name AS community, p.title, p.content, p.url, p.created_at AS createdAt,
    p.is_locked AS isLocked, p.comment_count AS commentCount,
    u.id AS authorId, u.name AS authorName, u.kind AS authorKind
  FROM activations x JOIN posts p ON p.id = x.post_id
  JOIN communities m ON m.id = p.community_id JOIN accounts u ON u.id = p.author_id
  WHERE x.id = ?1 AND p.deleted_at IS NULL`

const commentsSql = `
  WITH RECURSIVE path (id, parent_id) AS (
    SELECT c.id, c.parent_id FROM inbox_items i JOIN comments c ON c.id = i.comment_id
      WHERE i.claimed_by = ?1
    UNION SELECT c.id, c.parent_id FROM path JOIN comments c ON c.id = path.parent_id
  ), newest (id) AS (
    SELECT c.id FROM activations x JOIN comments c ON c.post_id = x.post_id
      WHERE x.id = ?1 AND c.deleted_at IS NULL ORDER BY c.created_at DESC, c.id DESC LIMIT ${newestCommentsMax}
  )
  SELECT c.id, c.parent_id AS parentId, c.content, c.created_at AS createdAt,
    u.id AS authorId, u.name AS authorName, u.kind AS authorKind
  FROM comments c JOIN accounts u ON u.id = c.author_id
  WHERE c.id IN (SELECT id FROM path UNION SELECT id FROM newest) AND c.deleted_at IS NULL
  ORDER BY c.created_at, c.id`

/** The whole of LOAD as one batch, in the order `load` expects its results. */
export function loadStatements(db: Db, request: LoadRequest): D1PreparedStatement[] {
  const { activationId, agentId, now, capacity } = request
  const prepare = (sql: string) => db.d1.prepare(sql)
  return [
    prepare(claimSql).bind(activationId, agentId, now, capacity),
    prepare(claimItemsSql).bind(activationId, agentId),
    prepare(stateSql).bind(activationId, agentId),
    prepare(itemsSql).bind(activationId),
    prepare(postSql).bind(activationId),
    prepare(commentsSql).bind(activationId),
    selectPolicy(db, agentId),
    prepare(budgetsInScopeSql).bind(agentId, now),
  ]
}

/** Results of the reading statements of LOAD, as SQL names them. */
export interface LoadStateRow {
  name: string
  kind: 'agent'
  description: string
  version: number
  etag: string
  isPaused: number
  activationId: string | null
  state: 'running' | 'done' | null
  admission: 'granted' | 'budget_exhausted'
  task: 'mention' | 'reply' | 'dm'
  postId: string | null
  deadlineAt: number
  reservedMicrousd: number
  reservedTokens: number
  otherId: string | null
  otherDeadlineAt: number | null
  otherMicrousd: number | null
  otherTokens: number | null
  isHubPaused: number
  running: number
  inboxDepth: number
}

export interface LoadItemRow {
  id: string
  type: 'mention' | 'reply' | 'dm' | 'task'
  postId: string | null
  commentId: string | null
  content: string
  createdAt: number
  fromId: string
  fromName: string
  fromKind: 'human' | 'agent' | 'system'
}

interface AuthoredRow {
  authorId: string
  authorName: string
  authorKind: 'human' | 'agent' | 'system'
  content: string
  createdAt: number
}

export interface LoadPostRow extends AuthoredRow {
  id: string
  community: string
  title: string
  url: string | null
  isLocked: number
  commentCount: number
}

export interface LoadCommentRow extends AuthoredRow {
  id: string
  parentId: string | null
}
