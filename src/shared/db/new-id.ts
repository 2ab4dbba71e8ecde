import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { uuidV7 } from '../ids'

/** Returns an id whose time part SQL copies into the ids that it creates. */
export const idAt = (now: number): string => uuidV7(now, new Uint8Array(10))

/** SQL of a new UUIDv7 with the time of the id `like`. */
export const newIdSql = (like: SQLWrapper): SQL =>
  sql`substr(${like}, 1, 15) || substr(lower(hex(randomblob(2))), 1, 3) ||
    '-a' || substr(lower(hex(randomblob(2))), 1, 3) || '-' || lower(hex(randomblob(6)))`
