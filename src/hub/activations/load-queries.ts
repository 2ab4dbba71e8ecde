import { selectDecisions } from '../approvals/queries'
import { budgetsInScopeSql } from '../budgets/queries'
import type { LoadRequest, Task } from '../contract/hub'
import type { Db } from '../db'
import { selectExploration } from '../exploration/queries'
import { recordExplorationRefusalSql } from '../exploration/share-sql'
import { selectPolicy } from '../grants/queries'
import {
  claimDecisionSql,
  claimItemsSql,
  createClaimSql,
  isBlockedByReservedSlotsSql,
  resumeSql,
} from './claim-queries'
import { inboxDepthSql, isHubPausedSql } from './waiting'

/** Newest comments included in the prompt, besides the ancestors of the comments that mention the agent. */
const newestCommentsMax = 50
/** The activation that the request `?1` created, or the parked one that it resumed. */
const mineSql = `coalesce((SELECT id FROM activations WHERE resumed_by = ?1), ?1)`

const stateSql = `
  SELECT c.name, c.kind, c.description, a.definition_version AS version, a.definition_etag AS etag,
    a.is_paused AS isPaused, x.id AS activationId, x.state, x.resumed_by = ?1 AS isResumed,
    x.cancel_requested_at IS NOT NULL AS isCancelled, x.admission, x.task,
    x.model, x.post_id AS postId, x.deadline_at AS deadlineAt,
    x.reserved_microusd AS reservedMicrousd, x.reserved_tokens AS reservedTokens,
    other.id AS otherId, other.deadline_at AS otherDeadlineAt,
    other.reserved_microusd AS otherMicrousd, other.reserved_tokens AS otherTokens,
    coalesce(other.models ->> '$[#-1]', other.model) AS otherModel,
    ${isHubPausedSql} AS isHubPaused,
    (SELECT count(*) FROM activations WHERE state = 'running') AS running,
    ${inboxDepthSql} AS inboxDepth,
    x.id IS NULL AND ${isBlockedByReservedSlotsSql} AS isKeptOut
  FROM agents a JOIN accounts c ON c.id = a.account_id
  LEFT JOIN activations x ON x.id = ${mineSql}
  LEFT JOIN activations other ON other.agent_id = ?2 AND other.state = 'running' AND other.id <> ${mineSql}
  WHERE a.account_id = ?2`

const itemsSql = `
  SELECT i.id, i.type, i.post_id AS postId, i.comment_id AS commentId, i.content, i.created_at AS createdAt,
    i.model, f.id AS fromId, f.name AS fromName, f.kind AS fromKind
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

/** Returns the statements of LOAD as one batch, in the order in which `load` reads their results. */
export function loadStatements(db: Db, request: LoadRequest): D1PreparedStatement[] {
  const { activationId, agentId, now, capacity, canExplore, explorationFloor = 0 } = request
  const claim = [activationId, agentId, now, capacity, Number(canExplore), explorationFloor]
  const prepare = (sql: string) => db.d1.prepare(sql)
  return [
    prepare(resumeSql).bind(activationId, agentId, now, capacity),
    prepare(claimDecisionSql).bind(activationId, agentId),
    prepare(createClaimSql(canExplore)).bind(...claim),
    prepare(claimItemsSql).bind(activationId, agentId),
    prepare(stateSql).bind(...claim),
    prepare(itemsSql).bind(activationId),
    prepare(postSql).bind(activationId),
    prepare(commentsSql).bind(activationId),
    selectPolicy(db, agentId),
    prepare(budgetsInScopeSql).bind(agentId, now),
    selectDecisions(db, activationId),
    ...(canExplore
      ? [
          selectExploration(db, activationId, agentId, now),
          prepare(recordExplorationRefusalSql).bind(...claim),
        ]
      : []),
  ]
}

/** Result rows of the SELECT statements of LOAD. */
export interface LoadStateRow {
  name: string
  kind: 'agent'
  description: string
  version: number
  etag: string
  isPaused: number
  activationId: string | null
  state: 'running' | 'parked' | 'done' | null
  isResumed: number | null
  isCancelled: number
  admission: 'granted' | 'budget_exhausted'
  task: Task
  model: string
  postId: string | null
  deadlineAt: number
  reservedMicrousd: number
  reservedTokens: number
  otherId: string | null
  otherDeadlineAt: number | null
  otherMicrousd: number | null
  otherTokens: number | null
  otherModel: string | null
  isHubPaused: number
  running: number
  inboxDepth: number
  /** 1 when a slot is free but reserved for exploration. */
  isKeptOut: number
}

export interface LoadItemRow {
  id: string
  type: 'mention' | 'reply' | 'dm' | 'task'
  postId: string | null
  commentId: string | null
  content: string
  createdAt: number
  model: string | null
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
