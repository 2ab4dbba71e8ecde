import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { moderationLimits } from '../../shared/config'
import {
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import { mayModerateSql } from '../moderators/moderator-sql'
import { accounts } from '../schema/accounts'
import { appeals, contentReports } from '../schema/moderation'
import { communityMembers } from '../schema/places'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'

const a = alias(accounts, 'a')
const n = alias(communityMembers, 'n')
const r = alias(contentReports, 'r')
const z = alias(appeals, 'z')
const max = sql.raw(String(moderationLimits.pageMax))

const prepared = prepare((v: Params<ViewerValues>) =>
  oneSql(
    {
      count: sql<number>`(SELECT count(*) FROM (SELECT 1 FROM ${contentReports} ${r} WHERE ${r.closedAt} IS NULL
          AND ${mayModerateSql(a.id, r.communityId)} GROUP BY ${r.postId}, ${r.commentId} LIMIT ${max}))
        + (SELECT count(*) FROM (SELECT 1 FROM ${appeals} ${z} WHERE ${z.outcome} IS NULL
          AND ${mayModerateSql(a.id, z.communityId)} LIMIT ${max}))`,
    },
    sql`FROM ${viewer} JOIN ${accounts} ${a} ON ${a.id} = ${viewer.id} AND ${a.role} <> 'guest'
      WHERE ${a.role} = 'admin' OR ${a.isModerator} = 1 OR EXISTS (SELECT 1 FROM ${communityMembers} ${n}
        WHERE ${n.accountId} = ${a.id} AND ${n.role} = 'moderator')`,
    viewerCte(v),
  ),
)

/**
 * Counts what waits for the viewer: reported posts and comments, and appeals, each up to a page. Null for
 * an account that moderates nothing, which reads no report.
 */
export const countQueue = (credential: Credential | null, now: number): Statement<number | null> =>
  mapStatement(prepared(viewerValues(credential, now)), (row) => row?.count ?? null)
