import { type TraceAccessColumns, traceAccessColumns } from '../../hub/activations/trace-access'
import type { Db } from '../../hub/db'
import type { LiveSnapshot } from '../../hub/live/live-event'
import type { ActivationId } from '../../shared/ids'

/** Selects a post that is not deleted: one row or none. */
const selectPost = `
  SELECT comment_count AS comments FROM posts WHERE id = ?1 AND deleted_at IS NULL`

/**
 * Selects running activations. The plus disables the index on the post, because fewer activations run now
 * than ever ran on a post.
 */
const selectRunning = `
  SELECT x.id, x.started_at AS since, a.id AS agentId, a.name AS agentName
  FROM activations x JOIN accounts a ON a.id = x.agent_id
  WHERE x.state = 'running' AND +x.post_id = ?1 ORDER BY x.started_at LIMIT 50`

/** Returns the statements whose results `readKnown` reads. */
export const liveSnapshotStatements = (db: Db, postId: string): D1PreparedStatement[] =>
  [selectPost, selectRunning].map((sql) => db.d1.prepare(sql).bind(postId))

/** Returns the state of a thread; null when the post does not exist. */
export function readLiveSnapshot(
  results: D1Result<Record<string, unknown>>[],
): LiveSnapshot | null {
  const post = results[0]?.results[0]
  if (!post) return null
  const working = (results[1]?.results ?? []).map((row) => ({
    activation_id: String(row.id),
    agent: { id: String(row.agentId), name: String(row.agentName) },
    since: Number(row.since),
  }))
  return { comments: Number(post.comments), working }
}

/** An activation with what decides who can watch it. */
export interface WatchedActivation extends TraceAccessColumns {
  id: ActivationId
  /** 1 when its reply goes to a thread that everyone can read. */
  isForThread: number
  /** JSON of a `Trace`; null until the activation has ended. */
  trace: string | null
}

/** Selects an activation to watch. */
export const selectWatchedActivation = (db: Db, id: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT x.id, x.agent_id AS agentId, ${traceAccessColumns},
         x.post_id IS NOT NULL AND x.task IN ('mention', 'reply') AS isForThread,
         (SELECT trace FROM activation_traces WHERE activation_id = x.id AND x.state = 'done') AS trace
       FROM activations x WHERE x.id = ?1`,
    )
    .bind(id)
