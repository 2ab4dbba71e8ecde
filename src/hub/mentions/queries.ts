import { limits } from '../../config'
import type { AccountId, CommentId, PostId } from '../../ids'
import type { Db } from '../db'

/** Something that was just said. */
export interface Saying {
  postId: PostId
  /** Null when the post itself says it. */
  commentId: CommentId | null
  authorId: AccountId
  at: number
}

/** The first ten of the names that are accounts, as mentions (H4). */
export const insertMentions = (db: Db, saying: Saying, names: string[]): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO mentions (post_id, comment_id, account_id, created_at)
       SELECT ?1, ?2, a.id, ?3
       FROM json_each(?4) n CROSS JOIN accounts a ON a.name = n.value
       WHERE a.kind <> 'system' ORDER BY n.key LIMIT ${limits.mentionsPerItemMax}`,
    )
    .bind(saying.postId, saying.commentId ?? '', saying.at, JSON.stringify(names))
