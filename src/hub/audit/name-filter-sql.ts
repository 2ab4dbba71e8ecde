import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'

/**
 * Whether a name matches a filter: it equals the filter, or begins with the part before a final `*`.
 * Not GLOB or LIKE: D1 refuses patterns of more than 50 bytes.
 *
 * @param filter a name, a prefix and `*`, or null, which every name matches
 */
export const matchesNameSql = (name: SQLWrapper, filter: SQLWrapper): SQL =>
  sql`(${filter} IS NULL OR ${name} = ${filter}
    OR (substr(${filter}, -1) = '*' AND instr(${name}, rtrim(${filter}, '*')) = 1))`
