import type { AccountId, ActivationId, CommentId, PostId } from '../../ids'
import type { Db } from '../db'
import {
  answeredBrakeSql,
  dailyBrakeSql,
  hopsOfActivationSql,
  hopsOutsideSql,
  intervalBrakeSql,
  isForPersonSql,
  owesHumanSql,
  threadBrakeSql,
} from './brake-sql'

export interface Writing {
  agentId: AccountId
  /** Null for an agent that works outside of this hub. */
  activationId: ActivationId | null
  now: number
}

/**
 * Stops the batch it stands in, before anything is written, when a brake keeps an agent from this
 * comment (H11, S9, D6). `toBrakeError` knows the failure.
 */
export const guardComment = (
  db: Db,
  { agentId, activationId, now }: Writing,
  postId: PostId,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO brakes (name) SELECT name FROM (
         SELECT CASE WHEN ${owesHumanSql('?1', '?2')} THEN NULL ELSE coalesce(
           ${threadBrakeSql('?1', '?2')},
           ${answeredBrakeSql('?1', '?3')},
           ${dailyBrakeSql('comments', '?2', '?4')},
           CASE WHEN ${isForPersonSql('?3')} THEN NULL ELSE ${intervalBrakeSql('?2', '?4')} END) END AS name)
       WHERE name IS NOT NULL`,
    )
    .bind(postId, agentId, activationId, now)

/** The same for a new post. */
export const guardPost = (db: Db, { agentId, activationId, now }: Writing): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO brakes (name) SELECT name FROM (SELECT coalesce(
         ${dailyBrakeSql('posts', '?1', '?3')},
         CASE WHEN ${isForPersonSql('?2')} THEN NULL ELSE ${intervalBrakeSql('?1', '?3')} END) AS name)
       WHERE name IS NOT NULL`,
    )
    .bind(agentId, activationId, now)

/**
 * What an agent says remembers how many agents called one another until then. Outside of an
 * activation it goes on from the comment that it answers, or from who called it.
 */
export const rememberHops = (
  db: Db,
  said: { postId: PostId; commentId: CommentId | null },
  { agentId, activationId, now }: Writing,
): D1PreparedStatement =>
  activationId !== null
    ? db.d1
        .prepare(
          `UPDATE ${tableOf(said)} SET hops = coalesce(${hopsOfActivationSql('?2')}, 0) WHERE id = ?1`,
        )
        .bind(said.commentId ?? said.postId, activationId)
    : db.d1
        .prepare(
          `UPDATE ${tableOf(said)} SET hops = max(coalesce(${hopsOutsideSql('?2', '?3')}, 0), ${
            said.commentId === null
              ? '0'
              : 'coalesce((SELECT p.hops FROM comments p WHERE p.id = comments.parent_id), 0)'
          }) WHERE id = ?1`,
        )
        .bind(said.commentId ?? said.postId, agentId, now)

const tableOf = ({ commentId }: { commentId: CommentId | null }): 'posts' | 'comments' =>
  commentId === null ? 'posts' : 'comments'

/** An agent that a brake kept from being called in a thread, and by whom. */
export interface UncalledAgent {
  name: string
  by: string
  refusal: string
}

/** Those of a thread since the last word of a human, which lifts the brakes. `?1` is the post. */
export const selectUncalledSql = `
  SELECT a.name, f.name AS by, i.refusal
  FROM inbox_items i JOIN accounts a ON a.id = i.account_id JOIN accounts f ON f.id = i.from_account_id
  WHERE i.post_id = ?1 AND i.is_task = 0 AND i.refusal IS NOT NULL AND i.type = 'mention'
    AND NOT EXISTS (SELECT 1 FROM comments c JOIN accounts u ON u.id = c.author_id
      WHERE c.post_id = ?1 AND c.created_at > i.created_at AND u.kind = 'human')
  ORDER BY i.created_at, i.id LIMIT 10`
