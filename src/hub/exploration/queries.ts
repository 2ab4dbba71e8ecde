import { exploration } from '../../shared/config'
import type { AccountId, ActivationId, PostId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'
import type { Db } from '../db'
import { canCommentSql, candidatesSql, canPostSql } from './discover-sql'

/** One candidate post, with the exploration settings of the agent's definition. */
export interface ExplorationRow {
  postId: PostId
  community: string
  authorId: AccountId
  authorName: string
  authorKind: AccountKind
  title: string
  content: string
  isQuestion: number
  createdAt: number
  commentCount: number
  /** JSON of `{ id, name, kind, content }`, oldest first. */
  comments: string
  words: string
  communities: string
  minConfidence: number
  mayPost: number
  mayComment: number
}

/** Selects the candidates of the exploration that LOAD has just admitted, best match first. */
export const selectExploration = (
  db: Db,
  activationId: ActivationId,
  agentId: AccountId,
  now: number,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH ${candidatesSql},
       best AS MATERIALIZED (
         SELECT * FROM candidates
         WHERE EXISTS (SELECT 1 FROM activations x
           WHERE x.id = ?1 AND x.state = 'running' AND x.task = 'exploration')
         ORDER BY matches DESC, score DESC, created_at DESC, id LIMIT ${exploration.candidatesMax})
       SELECT p.id AS postId, m.name AS community, u.id AS authorId, u.name AS authorName, u.kind AS authorKind,
         p.title, substr(p.content, 1, ${exploration.contentChars}) AS content, b.is_question AS isQuestion,
         p.created_at AS createdAt, p.comment_count AS commentCount,
         (SELECT json_group_array(json_object('id', n.author_id, 'name', n.name, 'kind', n.kind, 'content', n.content))
          FROM (SELECT * FROM (
            SELECT c.author_id, a.name, a.kind, substr(c.content, 1, ${exploration.commentChars}) AS content, c.created_at, c.id
            FROM comments c JOIN accounts a ON a.id = c.author_id
            WHERE c.post_id = p.id AND c.deleted_at IS NULL
            ORDER BY c.created_at DESC, c.id DESC LIMIT ${exploration.commentsShown})
            ORDER BY created_at, id) n) AS comments,
         e.words, e.communities, e.min_confidence AS minConfidence,
         ${canPostSql} AS mayPost, ${canCommentSql} AS mayComment
       FROM best b CROSS JOIN posts p ON p.id = b.id CROSS JOIN communities m ON m.id = p.community_id
       CROSS JOIN accounts u ON u.id = p.author_id CROSS JOIN explorers e ON e.account_id = ?2
       CROSS JOIN agents g ON g.account_id = ?2
       ORDER BY b.matches DESC, b.score DESC, b.created_at DESC, b.id`,
    )
    .bind(activationId, agentId, now)
