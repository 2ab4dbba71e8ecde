import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { readersSql } from '../communities/readable-sql'
import { adminOpenings } from '../schema/openings'

const o = alias(adminOpenings, 'opened')

/**
 * Whether the reader of a request is an admin who opened what is private to one of the owners, and it still
 * holds. Without an opening nothing else is looked up.
 *
 * @param owners a list of ids, as behind IN
 */
export const isOpenedSql = (owners: SQL, reader: SQLWrapper): SQL => sql`EXISTS (
  SELECT 1 FROM ${adminOpenings} ${o} WHERE ${o.ownerId} IN ${owners}
    AND ${o.expiresAt} > ${reader} ->> 'now'
    AND ${o.accountId} IN (SELECT r.id FROM ${readersSql(reader)} r WHERE r.role = 'admin'))`
