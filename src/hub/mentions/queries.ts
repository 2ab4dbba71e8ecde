import { limits } from '../../shared/config'
import type { AccountId, CommentId, PostId } from '../../shared/ids'
import type { Db } from '../db'

/** A post or comment that was just written. */
export interface PostedContent {
  postId: PostId
  /** Null for the post itself. */
  commentId: CommentId | null
  authorId: AccountId
  at: number
}

/** Inserts a mention for each of the first ten names that are accounts. */
export const insertMentions = (
  db: Db,
  source: PostedContent,
  names: string[],
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO mentions (post_id, comment_id, account_id, created_at)
       SELECT ?1, ?2, a.id, ?3
       FROM json_each(?4) n CROSS JOIN accounts a ON a.name = n.value
       WHERE a.kind <> 'system' ORDER BY n.key LIMIT ${limits.mentionsPerItemMax}`,
    )
    .bind(source.postId, source.commentId ?? '', source.at, JSON.stringify(names))
