import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { readersSql } from '../communities/readable-sql'
import { adminOpenings } from '../schema/openings'
import { isRunGoneSql } from '../shown-sql'

const o = alias(adminOpenings, 'opened')

/** `FROM` the openings by the reader of a request, an admin, that still hold. */
const fromOpeningsSql = (owners: SQL, reader: SQLWrapper): SQL => sql`
  FROM ${adminOpenings} ${o} WHERE ${o.ownerId} IN ${owners}
    AND ${o.expiresAt} > ${reader} ->> 'now'
    AND ${o.accountId} IN (SELECT r.id FROM ${readersSql(reader)} r WHERE r.role = 'admin')`

/**
 * Whether the reader of a request is an admin who opened what is private to one of the owners, and it still
 * holds. Without an opening nothing else is looked up.
 *
 * @param owners a list of ids, as behind IN
 */
export const isOpenedSql = (owners: SQL, reader: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 ${fromOpeningsSql(owners, reader)})`

/** When the last of these openings ends; null without one. */
export const selectOpenedUntilSql = (owners: SQL, reader: SQLWrapper): SQL<number | null> =>
  sql`(SELECT max(${o.expiresAt}) ${fromOpeningsSql(owners, reader)})`

type Run = Record<'id' | 'task' | 'usesOwnAccount' | 'postId' | 'replyCommentId', SQLWrapper>

/**
 * Whether a run is private to its requesters: it answers a direct message or a task given by hand, used their account,
 * or holds words that were deleted or removed.
 */
export const isPrivateRunSql = (run: Run): SQL =>
  sql`(${run.task} IN ('dm', 'manual') OR ${run.usesOwnAccount} = 1 OR ${isRunGoneSql(run)})`
