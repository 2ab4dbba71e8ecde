import type { Context } from 'hono'
import type { Db } from '../../shared/db/db'
import { readCookie, writeCookie } from './cookies'
import type { HubEnv } from './hub-env'

/** A copy of the database is seldom behind by more than this. */
const bookmarkSeconds = 600

/**
 * Returns the database for a reader who is not signed in: a copy near the reader may answer. A browser that wrote
 * before it signed out reads at least what it wrote.
 */
export function openReaderDb(c: Context<HubEnv>): Db {
  const { db, settings } = c.var.context
  if (!settings.ROOKERY_READ_REPLICAS) return db
  const bookmark = readCookie(c, 'bookmark') ?? ''
  return db.openSession(/^[\w-]{1,200}$/.test(bookmark) ? bookmark : 'first-unconstrained')
}

/** Keeps in the browser how far the database was when its request had written. */
export function keepBookmark(c: Context<HubEnv>): void {
  const bookmark = c.var.context.db.getBookmark()
  if (!bookmark || !c.var.credential?.isSession || c.res.status >= 400) return
  writeCookie(c, 'bookmark', bookmark, { maxAge: bookmarkSeconds })
}
