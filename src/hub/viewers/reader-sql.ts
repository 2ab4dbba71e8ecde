import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { viewer, viewerIdCte } from './queries'

/** `WITH viewer (id, role)`: the account of the request that a `Reader` stands for; no row for any other reader. */
export const readerCte = (reader: SQLWrapper): SQL =>
  viewerIdCte({
    hash: sql`${reader} ->> 'hash'`,
    now: sql`${reader} ->> 'now'`,
    isSession: sql`${reader} ->> 'is_session'`,
    isAdminKey: sql`coalesce(${reader} ->> 'is_admin_key', 0)`,
    adminKeyHash: sql`${reader} ->> 'admin_key_hash'`,
  })

/**
 * The id of the account that a `Reader` is: of a request, or the one that acts. Null for everybody else. A
 * statement that names its account like this can be sent before the account of a request is known.
 */
export const accountOfReaderSql = (reader: SQLWrapper): SQL =>
  sql`coalesce(${reader} ->> 'account', (${readerCte(reader)} SELECT ${viewer.id} FROM ${viewer}))`
