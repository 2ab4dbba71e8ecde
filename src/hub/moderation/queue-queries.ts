import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { moderationLimits } from '../../shared/config'
import { flag, number, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { CommentId } from '../../shared/ids'
import { unfiltered } from '../communities/readable-sql'
import { mayModerateSql } from '../moderators/moderator-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { appeals, contentReports, moderationActions } from '../schema/moderation'
import { posts } from '../schema/posts'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { actionFields } from './read-queries'

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
  by: string
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
  communityName: c.name,
  authorName: u.name,
  authorKind: u.kind,
  /** Its author deleted it, or a moderator removed it with its post. */
  isGone: flag(
    sql`coalesce(iif(${m.id} IS NULL, ${p.deletedAt}, ${m.deletedAt}), ${p.deletedAt}) IS NOT NULL`,
  ),
  isLocked: p.isLocked,
  reasons: sql`(SELECT json_group_array(json_object('by', name, 'reason', reason)) FROM (
    SELECT ${d.name}, ${r.reason} FROM ${contentReports} ${r} JOIN ${accounts} ${d} ON ${d.id} = ${r.accountId}
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
