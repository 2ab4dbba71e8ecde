import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { AccountId, CommentId, CommunityId } from '../../shared/ids'
import { canReadSql } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { appeals, contentReports, moderationActions } from '../schema/moderation'
import { bans } from '../schema/places'
import { posts } from '../schema/posts'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const p = alias(posts, 'p')
const m = alias(comments, 'm')
const c = alias(communities, 'c')
const u = alias(accounts, 'u')
const o = alias(accounts, 'o')
const x = alias(moderationActions, 'x')
const z = alias(appeals, 'z')
const r = alias(contentReports, 'r')
const b = alias(bans, 'b')

const targetFields = {
  postId: p.id,
  commentId: sql<CommentId | null>`${m.id}`,
  communityId: c.id,
  communityName: c.name,
  authorId: u.id,
  authorName: u.name,
  authorKind: u.kind,
  isDeleted: flag(
    sql`(${p.deletedAt} IS NOT NULL AND ${p.removalId} IS NULL) OR (${m.deletedAt} IS NOT NULL AND ${m.removalId} IS NULL)`,
  ),
  /** Of the thread. */
  isLocked: p.isLocked,
  /** Of the thread. */
  isPinned: flag(sql`${p.pinnedAt} IS NOT NULL`),
  /** The removal that holds for it. */
  removalId: sql<string | null>`iif(${m.id} IS NULL, ${p.removalId}, ${m.removalId})`,
}

/** A post or comment to moderate or to report. */
export type TargetRow = RowOf<typeof targetFields>

interface TargetValues {
  id: string
  reader: Reader
}

const selectTargetOf = {
  post: prepare(({ id, reader }: Params<TargetValues>) =>
    oneSql(
      targetFields,
      sql`FROM ${posts} ${p} JOIN ${communities} ${c} ON ${c.id} = ${p.communityId}
        JOIN ${accounts} ${u} ON ${u.id} = ${p.authorId} LEFT JOIN ${comments} ${m} ON ${m.id} = ''
        WHERE ${p.id} = ${id} AND ${canReadSql(p.communityId, reader)}`,
    ),
  ),
  comment: prepare(({ id, reader }: Params<TargetValues>) =>
    oneSql(
      targetFields,
      sql`FROM ${comments} ${m} JOIN ${posts} ${p} ON ${p.id} = ${m.postId}
        JOIN ${communities} ${c} ON ${c.id} = ${p.communityId}
        JOIN ${accounts} ${u} ON ${u.id} = ${m.authorId} WHERE ${m.id} = ${id}
          AND ${canReadSql(p.communityId, reader)}`,
    ),
  ),
}

/** Selects the place of a post or a comment that the reader reads, also of one that was removed. */
export const selectTarget = (
  kind: 'post' | 'comment',
  id: string,
  reader: Reader,
): Statement<TargetRow | undefined> => selectTargetOf[kind]({ id, reader })

/** Columns of `ActionRow`, in the tables x, c, u, o and z. */
export const actionFields = {
  id: x.id,
  kind: x.kind,
  communityId: x.communityId,
  communityName: c.name,
  postId: x.postId,
  commentId: x.commentId,
  banId: x.banId,
  accountId: u.id,
  accountName: u.name,
  accountKind: u.kind,
  moderatorId: o.id,
  moderatorName: o.name,
  moderatorKind: o.kind,
  reason: x.reason,
  createdAt: x.createdAt,
  appealedAt: nullable(z.createdAt),
  appealOutcome: nullable(z.outcome),
  appealReason: nullable(z.reason),
}

const actionTables = sql`${moderationActions} ${x} JOIN ${communities} ${c} ON ${c.id} = ${x.communityId}
  JOIN ${accounts} ${u} ON ${u.id} = ${x.accountId} JOIN ${accounts} ${o} ON ${o.id} = ${x.moderatorId}
  LEFT JOIN ${appeals} ${z} ON ${z.actionId} = ${x.id}`

/** What a moderator did, and what became of an appeal. */
export type ActionRow = RowOf<typeof actionFields>

const preparedOwnAction = prepare(
  ({ id, accountId }: Params<{ id: string; accountId: AccountId }>) =>
    oneSql(
      actionFields,
      sql`FROM ${actionTables} WHERE ${x.id} = ${id} AND ${x.accountId} = ${accountId}`,
    ),
)

/** Selects an action about an account, which may not read the community any more. */
export const selectOwnAction = (
  id: string,
  accountId: AccountId,
): Statement<ActionRow | undefined> => preparedOwnAction({ id, accountId })

const preparedAppealed = prepare(({ id, reader }: Params<TargetValues>) =>
  oneSql(
    actionFields,
    sql`FROM ${actionTables} WHERE ${x.id} = ${id} AND ${z.actionId} IS NOT NULL
      AND ${canReadSql(x.communityId, reader)}`,
  ),
)

/** Selects an action that was appealed, of a community that the reader reads. */
export const selectAppealed = (id: string, reader: Reader): Statement<ActionRow | undefined> =>
  preparedAppealed({ id, reader })

type Page = { beforeAt: number; beforeId: string; limit: number }

const farFuture = 9_000_000_000_000_000

/** A page, newest first. `before` is time and id of the last row of the previous one. */
export interface PageRequest {
  before: [number, string] | null
  limit: number
}

const toPage = ({ before, limit }: PageRequest): Page => {
  const [beforeAt, beforeId] = before ?? [farFuture, '']
  return { beforeAt, beforeId, limit }
}

const pageOfActionsSql = (v: Params<Page>): SQL => sql`
  (${x.createdAt}, ${x.id}) < (${v.beforeAt}, ${v.beforeId})
  ORDER BY ${x.createdAt} DESC, ${x.id} DESC LIMIT ${v.limit}`

const preparedLog = prepare((v: Params<Page & { community: string }>) =>
  manySql(
    actionFields,
    sql`FROM ${actionTables} WHERE ${x.communityId} = (SELECT id FROM ${communities} WHERE ${communities.name} = ${v.community})
      AND ${pageOfActionsSql(v)}`,
  ),
)

/** Selects what moderators did in a community, without any text of what they removed. */
export const selectLog = (community: string, page: PageRequest): Statement<ActionRow[]> =>
  preparedLog({ community, ...toPage(page) })

const preparedOwnActions = prepare((v: Params<ViewerValues & Page>) =>
  manySql(
    actionFields,
    sql`FROM ${actionTables} WHERE ${x.accountId} = (SELECT ${viewer.id} FROM ${viewer}) AND ${pageOfActionsSql(v)}`,
    viewerCte(v),
  ),
)

/** Selects what moderators did to the viewer's posts and comments and to their account. */
export const selectOwnActions = (
  credential: Credential | null,
  now: number,
  page: PageRequest,
): Statement<ActionRow[]> =>
  preparedOwnActions({ ...viewerValues(credential, now), ...toPage(page) })

const reportFields = {
  id: r.id,
  communityName: c.name,
  postId: r.postId,
  commentId: r.commentId,
  reason: r.reason,
  createdAt: r.createdAt,
  outcome: r.outcome,
  outcomeReason: r.outcomeReason,
  closedAt: r.closedAt,
}

/** A report with its outcome; `commentId` is '' for a post. */
export type ReportRow = RowOf<typeof reportFields>

const preparedOwnReports = prepare((v: Params<ViewerValues & Page>) =>
  manySql(
    reportFields,
    sql`FROM ${contentReports} ${r} JOIN ${communities} ${c} ON ${c.id} = ${r.communityId}
      WHERE ${r.accountId} = (SELECT ${viewer.id} FROM ${viewer})
        AND (${r.createdAt}, ${r.id}) < (${v.beforeAt}, ${v.beforeId})
      ORDER BY ${r.createdAt} DESC, ${r.id} DESC LIMIT ${v.limit}`,
    viewerCte(v),
  ),
)

/** Selects the reports that the viewer made. */
export const selectOwnReports = (
  credential: Credential | null,
  now: number,
  page: PageRequest,
): Statement<ReportRow[]> =>
  preparedOwnReports({ ...viewerValues(credential, now), ...toPage(page) })

const preparedReport = prepare(({ id, reader }: Params<TargetValues>) =>
  oneSql(
    { ...reportFields, communityId: r.communityId, accountId: r.accountId },
    sql`FROM ${contentReports} ${r} JOIN ${communities} ${c} ON ${c.id} = ${r.communityId}
      WHERE ${r.id} = ${id} AND ${canReadSql(r.communityId, reader)}`,
  ),
)

/** Selects a report of a community that the reader reads. */
export const selectReport = (
  id: string,
  reader: Reader,
): Statement<(ReportRow & { communityId: CommunityId; accountId: AccountId }) | undefined> =>
  preparedReport({ id, reader })

const banFields = {
  id: b.id,
  kind: b.kind,
  reason: b.reason,
  accountId: u.id,
  accountName: u.name,
  accountKind: u.kind,
  communityId: c.id,
  communityName: c.name,
  createdAt: b.createdAt,
  endsAt: b.endsAt,
}

/** A mute or a ban in a community. */
export type BanRow = RowOf<typeof banFields>

const banTables = sql`${bans} ${b} JOIN ${communities} ${c} ON ${c.id} = ${b.communityId}
  JOIN ${accounts} ${u} ON ${u.id} = ${b.accountId}`

const preparedBans = prepare((v: Params<Page & { community: string; now: number }>) =>
  manySql(
    banFields,
    sql`FROM ${banTables} WHERE ${c.name} = ${v.community} AND ${b.liftedAt} IS NULL
      AND (${b.endsAt} IS NULL OR ${b.endsAt} > ${v.now})
      AND (${b.createdAt}, ${b.id}) < (${v.beforeAt}, ${v.beforeId})
      ORDER BY ${b.createdAt} DESC, ${b.id} DESC LIMIT ${v.limit}`,
  ),
)

/** Selects the mutes and bans that hold in a community, newest first. */
export const selectBans = (
  community: string,
  now: number,
  page: PageRequest,
): Statement<BanRow[]> => preparedBans({ community, now, ...toPage(page) })

const preparedBan = prepare(({ id, reader }: Params<TargetValues>) =>
  oneSql(banFields, sql`FROM ${banTables} WHERE ${b.id} = ${id} AND ${canReadSql(c.id, reader)}`),
)

/** Selects a mute or a ban in a community that the reader reads. */
export const selectBan = (id: string, reader: Reader): Statement<BanRow | undefined> =>
  preparedBan({ id, reader })
