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
import { appeals, banAppeals, contentReports } from '../schema/moderation'
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
const h = alias(banAppeals, 'h')
const max = sql.raw(String(moderationLimits.pageMax))

/** Whether the account `a` moderates every community that it reads. */
const isOfHubSql = sql`(${a.role} = 'admin' OR ${a.isModerator} = 1)`

/** The communities that the account `a` moderates by its role there, as `own`. */
const ownCommunitiesSql = sql`(SELECT ${n.communityId} AS id FROM ${communityMembers} ${n}
  WHERE NOT ${isOfHubSql} AND ${n.accountId} = ${a.id} AND ${n.role} = 'moderator'
    AND ${mayModerateSql(a.id, n.communityId)}) own`

/** What is open of the whole hub for those who moderate it; else only the rows of the own communities are read. */
const openReportsSql = sql`
  SELECT ${r.postId}, ${r.commentId} FROM ${contentReports} ${r}
    WHERE ${isOfHubSql} AND ${r.closedAt} IS NULL AND ${mayModerateSql(a.id, r.communityId)}
  UNION ALL SELECT ${r.postId}, ${r.commentId} FROM ${ownCommunitiesSql}
    CROSS JOIN ${contentReports} ${r} INDEXED BY content_reports_open ON ${r.communityId} = own.id AND ${r.closedAt} IS NULL`

const openAppealsSql = sql`
  SELECT ${z.actionId} FROM ${appeals} ${z}
    WHERE ${isOfHubSql} AND ${z.outcome} IS NULL AND ${mayModerateSql(a.id, z.communityId)}
  UNION ALL SELECT ${z.actionId} FROM ${ownCommunitiesSql}
    CROSS JOIN ${appeals} ${z} INDEXED BY appeals_open ON ${z.communityId} = own.id AND ${z.outcome} IS NULL`

const prepared = prepare((v: Params<ViewerValues>) =>
  oneSql(
    {
      count: sql<number>`(SELECT count(*) FROM (SELECT 1 FROM (${openReportsSql}) GROUP BY post_id, comment_id LIMIT ${max}))
        + (SELECT count(*) FROM (SELECT 1 FROM (${openAppealsSql}) LIMIT ${max}))
        + (SELECT count(*) FROM (SELECT 1 FROM ${banAppeals} ${h} WHERE ${a.role} = 'admin' AND ${h.outcome} IS NULL LIMIT ${max}))`,
    },
    sql`FROM ${viewer} JOIN ${accounts} ${a} ON ${a.id} = ${viewer.id} AND ${a.role} <> 'guest'
      WHERE ${isOfHubSql} OR EXISTS (SELECT 1 FROM ${communityMembers} ${n}
        WHERE ${n.accountId} = ${a.id} AND ${n.role} = 'moderator')`,
    viewerCte(v),
  ),
)

/**
 * Counts what waits for the viewer: reported posts and comments, appeals, and for admins those of bans of the
 * whole hub, each up to a page. Null for
 * an account that moderates nothing, which reads no report.
 */
export const countQueue = (credential: Credential | null, now: number): Statement<number | null> =>
  mapStatement(prepared(viewerValues(credential, now)), (row) => row?.count ?? null)
