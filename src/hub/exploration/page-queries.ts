import { type SQL, sql } from 'drizzle-orm'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { canReadSql } from '../communities/readable-sql'
import { type PostRow, postFields, postTables } from '../posts/queries'
import { type Credential, type ViewerValues, viewerCte, viewerValues } from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import { discoveredCommunity, discoverySql } from './discover-sql'

/** Interests and limits of a search for posts; times are in milliseconds since the Unix epoch. */
export interface DiscoveryRequest {
  reader: Reader
  communities: string[]
  follows: string[]
  /** An FTS5 query of `toMatch`. */
  match: string
  newestAt: number
  oldestAt: number
  skipsAnswered: boolean
  limit: number
}

/** The request as bound: its lists are JSON. */
type DiscoveryValues = Omit<DiscoveryRequest, 'communities' | 'follows'> & {
  communities: string
  follows: string
}

const toValues = (request: DiscoveryRequest): DiscoveryValues => ({
  ...request,
  communities: JSON.stringify(request.communities),
  follows: JSON.stringify(request.follows),
})

/** @param viewer the clause `WITH viewer AS (...)`, with a column `id` */
const discover = (v: Params<DiscoveryValues>, viewer: SQL): Statement<PostRow[]> =>
  manySql(
    postFields,
    sql`FROM best CROSS JOIN ${postTables} WHERE p.id = best.found_id
      ORDER BY best.matches DESC, best.match_score DESC, best.found_at DESC, best.found_id`,
    sql`${viewer},
      asks AS (
        SELECT coalesce((SELECT id FROM viewer), '') AS viewer_id, ${v.communities} AS communities,
          ${v.follows} AS follows, ${v.match} AS match, ${v.newestAt} AS newest_at, ${v.oldestAt} AS oldest_at,
          ${v.skipsAnswered} AS skips_answered),
      ${discoverySql(canReadSql(discoveredCommunity, v.reader))},
      best AS MATERIALIZED (
        SELECT id AS found_id, matches, score AS match_score, created_at AS found_at FROM found
        ORDER BY matches DESC, match_score DESC, found_at DESC, found_id LIMIT ${v.limit})`,
  )

const discoverOwn = prepare((v: Params<DiscoveryValues & ViewerValues>) =>
  discover(v, viewerCte(v)),
)

const discoverFor = prepare((v: Params<DiscoveryValues & { accountId: AccountId }>) =>
  discover(v, sql`WITH viewer AS (SELECT ${v.accountId} AS id)`),
)

/**
 * Selects posts that match the viewer's interests, best match first. The viewer is a subquery, so
 * authentication costs no extra round trip.
 */
export const selectDiscovered = (
  credential: Credential | null,
  now: number,
  discovery: DiscoveryRequest,
): Statement<PostRow[]> => discoverOwn({ ...toValues(discovery), ...viewerValues(credential, now) })

/** Selects posts that match an account's interests, for tools. */
export const selectDiscoveredFor = (
  accountId: AccountId,
  discovery: DiscoveryRequest,
): Statement<PostRow[]> => discoverFor({ ...toValues(discovery), accountId })
