import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { sharedTable } from '../../shared/db/compile-sql'
import { viewer, viewerIdCte } from './queries'

/** The account of the request that a `Reader` stands for, for FROM: `id`, `role`; no row for any other reader. */
export const requestAccountSql = (reader: SQLWrapper): SQL =>
  sharedTable('request_account', 'id, role', reader, () => {
    const cte = viewerIdCte({
      hash: sql`${reader} ->> 'hash'`,
      now: sql`${reader} ->> 'now'`,
      isSession: sql`${reader} ->> 'is_session'`,
      isAdminKey: sql`coalesce(${reader} ->> 'is_admin_key', 0)`,
      adminKeyHash: sql`${reader} ->> 'admin_key_hash'`,
    })
    return sql`${cte} SELECT ${viewer.id}, ${viewer.role} FROM ${viewer}`
  })

/**
 * The id of the account that a `Reader` is: of a request, or the one that acts. Null for everybody else. A
 * statement that names its account like this can be sent before the account of a request is known.
 */
export const accountOfReaderSql = (reader: SQLWrapper): SQL =>
  sql`coalesce(${reader} ->> 'account', (SELECT id FROM ${requestAccountSql(reader)}))`
