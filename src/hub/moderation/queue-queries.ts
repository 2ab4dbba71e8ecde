import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { moderationLimits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import type { CommentId } from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { mayModerateSql } from '../rules/moderator-sql'
import { type PersonAnswer, personJsonSql, personSql } from '../rules/people-sql'
import { placeSql } from '../rules/places'
import { canReadSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { communities, communityMembers } from '../schema/communities'
import { appeals, banAppeals, contentReports, moderationActions } from '../schema/moderation'
import { comments, posts } from '../schema/posts'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'
import { actionFields } from './queries'

const p = alias(posts, 'p')
const m = alias(comments, 'm')
const c = alias(communities, 'c')
const u = alias(accounts, 'u')
const o = alias(accounts, 'o')
const d = alias(accounts, 'd')
const x = alias(moderationActions, 'x')
const z = alias(appeals, 'z')
const r = alias(contentReports, 'r')
const ownId = sql`(SELECT ${viewer.id} FROM ${viewer})`

const excerptChars = sql.raw(String(moderationLimits.excerptCharsMax))
const reasonsMax = sql.raw(String(moderationLimits.reasonsShownMax))

interface Reason {
  by: PersonAnswer
  reason: string
}

const caseFields = {
  reportId: sql<string>`t.first_id`,
  since: number(sql`t.since`),
  reports: number(sql`t.n`),
  postId: p.id,
  commentId: sql<CommentId | null>`${m.id}`,
  title: p.title,
  text: sql<string>`substr(coalesce(${m.content}, ${p.content}), 1, ${excerptChars})`,
  community: placeSql(c),
  author: personSql(u),
  /** Its author deleted it, or a moderator removed it with its post. */
  isGone: flag(
    sql`coalesce(iif(${m.id} IS NULL, ${p.deletedAt}, ${m.deletedAt}), ${p.deletedAt}) IS NOT NULL`,
  ),
  isLocked: p.isLocked,
  reasons: sql`(SELECT json_group_array(json_object('by', json(by), 'reason', reason)) FROM (
    SELECT ${personJsonSql(d)} AS by, ${r.reason} FROM ${contentReports} ${r} JOIN ${accounts} ${d} ON ${d.id} = ${r.accountId}
    WHERE ${r.postId} = t.post_id AND ${r.commentId} = t.comment_id AND ${r.closedAt} IS NULL
    ORDER BY ${r.createdAt} LIMIT ${reasonsMax}))`.mapWith((json: string): Reason[] =>
    JSON.parse(json),
  ) as SQL<Reason[]>,
}

/** A post or comment with open reports, of a community that the viewer moderates. */
export type CaseRow = RowOf<typeof caseFields>

type After = { afterAt: number; afterId: string; limit: number }

const preparedCases = prepare((v: Params<ViewerValues & After>) =>
  manySql(
    caseFields,
    sql`${unfiltered('moderation')} FROM (SELECT ${r.postId}, ${r.commentId}, min(${r.createdAt}) AS since, min(${r.id}) AS first_id, count(*) AS n
        FROM ${contentReports} ${r} WHERE ${r.closedAt} IS NULL AND ${mayModerateSql(ownId, r.communityId)}
        GROUP BY ${r.postId}, ${r.commentId}
        HAVING (min(${r.createdAt}), min(${r.id})) > (${v.afterAt}, ${v.afterId})
        ORDER BY since, first_id LIMIT ${v.limit}) t
      CROSS JOIN ${posts} ${p} ON ${p.id} = t.post_id
      CROSS JOIN ${communities} ${c} ON ${c.id} = ${p.communityId}
      LEFT JOIN ${comments} ${m} ON ${m.id} = t.comment_id
      JOIN ${accounts} ${u} ON ${u.id} = coalesce(${m.authorId}, ${p.authorId})
      ORDER BY t.since, t.first_id`,
    viewerCte(v),
  ),
)

/** Selects reported posts and comments of the communities that the viewer moderates, oldest first. */
export const selectCases = (
  credential: Credential | null,
  now: number,
  { after, limit }: { after: [number, string] | null; limit: number },
): Statement<CaseRow[]> => {
  const [afterAt, afterId] = after ?? [0, '']
  return preparedCases({ ...viewerValues(credential, now), afterAt, afterId, limit })
}

const appealFields = {
  ...actionFields,
  appeal: z.text,
  appealAt: z.createdAt,
  /** The text in question; null for a mute or a ban. */
  text: sql<
    string | null
  >`substr(coalesce((SELECT ${m.content} FROM ${comments} ${m} WHERE ${m.id} = ${x.commentId}),
    (SELECT ${p.title} || char(10, 10) || ${p.content} FROM ${posts} ${p} WHERE ${p.id} = ${x.postId})), 1, ${excerptChars})`,
}

/** An open appeal of a community that the viewer moderates. */
export type AppealRow = RowOf<typeof appealFields>

const preparedAppeals = prepare((v: Params<ViewerValues & { limit: number }>) =>
  manySql(
    appealFields,
    sql`${unfiltered('moderation')} FROM ${appeals} ${z} JOIN ${moderationActions} ${x} ON ${x.id} = ${z.actionId}
      JOIN ${communities} ${c} ON ${c.id} = ${x.communityId}
      JOIN ${accounts} ${u} ON ${u.id} = ${x.accountId} JOIN ${accounts} ${o} ON ${o.id} = ${x.moderatorId}
      WHERE ${z.outcome} IS NULL AND ${mayModerateSql(ownId, z.communityId)}
      ORDER BY ${z.createdAt}, ${z.actionId} LIMIT ${v.limit}`,
    viewerCte(v),
  ),
)

/** Selects open appeals of the communities that the viewer moderates, oldest first. */
export const selectOpenAppeals = (
  credential: Credential | null,
  now: number,
  limit: number,
): Statement<AppealRow[]> => preparedAppeals({ ...viewerValues(credential, now), limit })

const a = alias(accounts, 'a')
const n = alias(communityMembers, 'n')
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

const preparedMayModerate = prepare((v: Params<ViewerValues & { community: string }>) =>
  oneSql(
    { mayModerate: flag(mayModerateSql(ownId, c.id)) },
    sql`FROM ${communities} ${c} WHERE ${c.name} = ${v.community}`,
    viewerCte(v),
  ),
)

/** Selects whether the viewer may moderate a community. */
export const selectMayModerate = (
  credential: Credential | null,
  now: number,
  community: string,
): Statement<boolean> =>
  mapStatement(
    preparedMayModerate({ ...viewerValues(credential, now), community }),
    (row) => row?.mayModerate ?? false,
  )

const removalFields = {
  /** '' for the post itself. */
  commentId: sql<string>`place.comment_id`,
  actionId: x.id,
  reason: x.reason,
  createdAt: x.createdAt,
  isOwn: flag(sql`place.author_id = ${ownId}`),
  /** The removed text, for its author and for moderators; null for everybody else. */
  text: sql<
    string | null
  >`iif(place.author_id = ${ownId} OR ${mayModerateSql(ownId, x.communityId)}, place.text, NULL)`,
  appealOutcome: nullable(z.outcome),
  isAppealed: flag(sql`${z.actionId} IS NOT NULL`),
}

/** What was removed of a thread. */
export type RemovalRow = RowOf<typeof removalFields>

const preparedRemovals = prepare((v: Params<ViewerValues & { postId: string; reader: Reader }>) =>
  manySql(
    removalFields,
    sql`${unfiltered('moderation')} FROM (SELECT '' AS comment_id, ${p.removalId} AS removal_id, ${p.authorId} AS author_id,
          ${p.title} || char(10, 10) || ${p.content} AS text
        FROM ${posts} ${p} WHERE ${p.id} = ${v.postId} AND ${p.removalId} IS NOT NULL
        UNION ALL SELECT ${m.id}, ${m.removalId}, ${m.authorId}, ${m.content}
        FROM ${comments} ${m} WHERE ${m.postId} = ${v.postId} AND ${m.removalId} IS NOT NULL) place
      JOIN ${moderationActions} ${x} ON ${x.id} = place.removal_id AND ${canReadSql(x.communityId, v.reader)} LEFT JOIN ${appeals} ${z} ON ${z.actionId} = ${x.id}
      LIMIT 200`,
    viewerCte(v),
  ),
)

/** Selects what moderators removed of a thread, with the texts that the viewer may see. */
export const selectRemovals = (
  credential: Credential | null,
  now: number,
  postId: string,
): Statement<RemovalRow[]> =>
  preparedRemovals({
    ...viewerValues(credential, now),
    postId,
    reader: requestReader(credential, now),
  })

const preparedThreadRole = prepare((v: Params<ViewerValues & { postId: string }>) =>
  oneSql(
    { mayModerate: flag(mayModerateSql(ownId, p.communityId)) },
    sql`${unfiltered('moderation')} FROM ${posts} ${p} WHERE ${p.id} = ${v.postId}`,
    viewerCte(v),
  ),
)

/** Selects whether the viewer may moderate a thread. */
export const selectMayModerateThread = (
  credential: Credential | null,
  now: number,
  postId: string,
): Statement<boolean> =>
  mapStatement(
    preparedThreadRole({ ...viewerValues(credential, now), postId }),
    (row) => row?.mayModerate ?? false,
  )
