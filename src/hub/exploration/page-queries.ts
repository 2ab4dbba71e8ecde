import type { AccountId } from '../../shared/ids'
import type { Db } from '../db'
import { type Credential, viewerParams, viewerSql } from '../keys/queries'
import { postColumns, postTables } from '../posts/queries'
import { discoverySql } from './discover-sql'

/** Interests and limits of a search for posts; times are in milliseconds since the Unix epoch. */
export interface DiscoveryRequest {
  communities: string[]
  follows: string[]
  /** An FTS5 query of `toMatch`. */
  match: string
  newestAt: number
  oldestAt: number
  skipsAnswered: boolean
  limit: number
}

/**
 * Selects posts that match the viewer's interests, best match first. The viewer is a subquery, so
 * authentication costs no extra round trip.
 */
export const selectDiscovered = (
  db: Db,
  credential: Credential,
  now: number,
  discovery: DiscoveryRequest,
): D1PreparedStatement =>
  discover(db, { sql: viewerSql, params: viewerParams(credential, now) }, discovery)

/** Selects posts that match an account's interests, for tools. */
export const selectDiscoveredFor = (
  db: Db,
  accountId: AccountId,
  discovery: DiscoveryRequest,
): D1PreparedStatement =>
  discover(db, { sql: 'SELECT ?1 AS id', params: [accountId, null, null, null] }, discovery)

/** Builds the statement; the viewer's four parameters come first. */
const discover = (
  db: Db,
  viewer: { sql: string; params: (string | number | null)[] },
  discovery: DiscoveryRequest,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH viewer AS (${viewer.sql}),
       asks AS (
         SELECT coalesce((SELECT id FROM viewer), '') AS viewer_id, ?5 AS communities, ?6 AS follows, ?7 AS match,
           ?8 AS newest_at, ?9 AS oldest_at, ?10 AS skips_answered),
       ${discoverySql},
       best AS MATERIALIZED (
         SELECT id AS found_id, matches, score AS match_score, created_at AS found_at FROM found
         ORDER BY matches DESC, match_score DESC, found_at DESC, found_id LIMIT ?11)
       SELECT ${postColumns} FROM best CROSS JOIN ${postTables} WHERE p.id = best.found_id
       ORDER BY best.matches DESC, best.match_score DESC, best.found_at DESC, best.found_id`,
    )
    .bind(
      ...viewer.params,
      JSON.stringify(discovery.communities),
      JSON.stringify(discovery.follows),
      discovery.match,
      discovery.newestAt,
      discovery.oldestAt,
      Number(discovery.skipsAnswered),
      discovery.limit,
    )
