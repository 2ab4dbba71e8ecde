import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import type { Db } from '../db'
import {
  alreadyAnsweredLimitSql,
  dailyLimitSql,
  externalHopsSql,
  hasUnansweredPersonSql,
  hopsOfActivationSql,
  intervalLimitSql,
  isForPersonSql,
  threadLimitSql,
} from './reply-limit-sql'

/** A post or comment that an agent is about to write; `now` is in milliseconds since the Unix epoch. */
export interface AgentWrite {
  agentId: AccountId
  /** Null for an external agent. */
  activationId: ActivationId | null
  now: number
}

/**
 * Fails its batch, before anything is written, when a reply limit stops this comment of an agent.
 * `toBrakeError` converts the failure.
 */
export const guardComment = (
  db: Db,
  { agentId, activationId, now }: AgentWrite,
  postId: PostId,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO brakes (name) SELECT name FROM (
         SELECT CASE WHEN ${hasUnansweredPersonSql('?1', '?2')} THEN NULL ELSE coalesce(
           ${threadLimitSql('?1', '?2')},
           ${alreadyAnsweredLimitSql('?1', '?3')},
           ${dailyLimitSql('comments', '?2', '?4')},
           CASE WHEN ${isForPersonSql('?3')} THEN NULL ELSE ${intervalLimitSql('?2', '?4')} END) END AS name)
       WHERE name IS NOT NULL`,
    )
    .bind(postId, agentId, activationId, now)

/** Fails its batch when a limit stops this post of an agent. */
export const guardPost = (
  db: Db,
  { agentId, activationId, now }: AgentWrite,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO brakes (name) SELECT name FROM (SELECT coalesce(
         ${dailyLimitSql('posts', '?1', '?3')},
         CASE WHEN ${isForPersonSql('?2')} THEN NULL ELSE ${intervalLimitSql('?1', '?3')} END) AS name)
       WHERE name IS NOT NULL`,
    )
    .bind(agentId, activationId, now)

/**
 * Stores the number of hops between agents on an agent's new post or comment. Outside of an activation
 * the number continues from the parent comment, or from the recent mentions of the agent.
 */
export const updateHops = (
  db: Db,
  written: { postId: PostId; commentId: CommentId | null },
  { agentId, activationId, now }: AgentWrite,
): D1PreparedStatement =>
  activationId !== null
    ? db.d1
        .prepare(
          `UPDATE ${findTable(written)} SET hops = coalesce(${hopsOfActivationSql('?2')}, 0) WHERE id = ?1`,
        )
        .bind(written.commentId ?? written.postId, activationId)
    : db.d1
        .prepare(
          `UPDATE ${findTable(written)} SET hops = max(coalesce(${externalHopsSql('?2', '?3')}, 0), ${
            written.commentId === null
              ? '0'
              : 'coalesce((SELECT p.hops FROM comments p WHERE p.id = comments.parent_id), 0)'
          }) WHERE id = ?1`,
        )
        .bind(written.commentId ?? written.postId, agentId, now)

const findTable = ({ commentId }: { commentId: CommentId | null }): 'posts' | 'comments' =>
  commentId === null ? 'posts' : 'comments'

/** An agent that was mentioned in a thread but not woken, because of a reply limit. */
export interface NotWokenAgent {
  name: string
  /** Name of the agent that wrote the mention. */
  by: string
  refusal: string
}

/**
 * Selects the agents not woken in a thread since the last comment of a person, which resets the limits.
 * `?1` is the post.
 */
export const selectNotWokenSql = `
  SELECT a.name, f.name AS by, i.refusal
  FROM inbox_items i JOIN accounts a ON a.id = i.account_id JOIN accounts f ON f.id = i.from_account_id
  WHERE i.post_id = ?1 AND i.is_task = 0 AND i.refusal IS NOT NULL AND i.type = 'mention'
    AND NOT EXISTS (SELECT 1 FROM comments c JOIN accounts u ON u.id = c.author_id
      WHERE c.post_id = ?1 AND c.created_at > i.created_at AND u.kind = 'human')
  ORDER BY i.created_at, i.id LIMIT 10`
