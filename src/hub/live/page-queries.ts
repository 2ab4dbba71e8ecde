import type { Db } from '../db'

/** Whether a post is there to be watched: one row or none. */
export const selectWatchable = (db: Db, postId: string): D1PreparedStatement =>
  db.d1.prepare('SELECT id FROM posts WHERE id = ?1 AND deleted_at IS NULL').bind(postId)
