import { and, eq, isNull, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { ThreadSnapshot } from '../../hub/contract/live-event'
import { canReadSql } from '../../hub/rules/readable-sql'
import { isForThreadSql, openedUntilSql, traceAccessColumns } from '../../hub/rules/traces-sql'
import { accounts } from '../../hub/schema/accounts'
import { activations, activationTraces } from '../../hub/schema/activations'
import { posts } from '../../hub/schema/posts'
import type { Reader } from '../../hub/viewers/reader'
import type { Answers } from '../../shared/db/batch'
import type { RowOf } from '../../shared/db/fields'
import { manySql, one, oneSql, orm, type Params, prepare } from '../../shared/db/statement'
import type { CommunityId, PostId } from '../../shared/ids'

const x = alias(activations, 'x')
const a = alias(accounts, 'a')
const t = alias(activationTraces, 't')

/** Selects a post that is not deleted and that the reader reads. */
const selectPost = (postId: PostId, reader: Reader) =>
  one(
    orm
      .select({ comments: posts.commentCount, communityId: posts.communityId })
      .from(posts)
      .where(
        and(
          eq(posts.id, postId),
          isNull(posts.deletedAt),
          canReadSql(posts.communityId, sql`${reader}`),
        ),
      ),
  )

/**
 * Selects running activations. The plus disables the index on the post, because fewer activations run now
 * than ever ran on a post.
 */
const selectRunning = prepare(({ postId }: Params<{ postId: PostId }>) =>
  manySql(
    { activation_id: x.id, agent: { id: a.id, name: a.name }, since: x.startedAt },
    sql`FROM ${activations} ${x} JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
    WHERE ${x.state} = 'running' AND +${x.postId} = ${postId} ORDER BY ${x.startedAt} LIMIT 50`,
  ),
)

/** Returns the statements whose answers `toLiveSnapshot` reads. */
export const liveSnapshotStatements = (postId: PostId, reader: Reader) => ({
  post: selectPost(postId, reader),
  working: selectRunning({ postId }),
})

/** Returns the state of a thread, and its community; null when it does not exist or is not for the reader. */
export const toLiveSnapshot = ({
  post,
  working,
}: Answers<ReturnType<typeof liveSnapshotStatements>>): {
  snapshot: ThreadSnapshot
  communityId: CommunityId
} | null =>
  post ? { snapshot: { comments: post.comments, working }, communityId: post.communityId } : null

/** Selects the id of the newest post of the feed that the reader reads. */
export const selectNewestPost = prepare(({ reader }: Params<{ reader: Reader }>) =>
  oneSql(
    { id: posts.id },
    sql`FROM ${posts} WHERE ${posts.isListed} = 1 AND ${posts.deletedAt} IS NULL
      AND ${canReadSql(posts.communityId, reader)} ORDER BY ${posts.createdAt} DESC, ${posts.id} DESC LIMIT 1`,
  ),
)

const watchedColumns = (reader: SQLWrapper) => ({
  id: x.id,
  agentId: x.agentId,
  /** Of its thread. */
  communityId: x.communityId,
  ...traceAccessColumns(reader),
  /** When the last opening by the reader ends; null without one. */
  openedUntil: openedUntilSql(reader),
  isForThread: isForThreadSql(reader),
  /** JSON of a `Trace`; null until the activation has ended. */
  trace: sql<string | null>`(SELECT ${t.trace} FROM ${activationTraces} ${t}
    WHERE ${t.activationId} = ${x.id} AND ${x.state} = 'done')`,
})

/** An activation with what decides who can watch it. */
export type WatchedActivation = RowOf<ReturnType<typeof watchedColumns>>

/** Selects an activation to watch. */
export const selectWatchedActivation = prepare(
  ({ id, reader }: Params<{ id: string; reader: Reader }>) =>
    oneSql(watchedColumns(reader), sql`FROM ${activations} ${x} WHERE ${x.id} = ${id}`),
)
