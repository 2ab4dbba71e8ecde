import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { moderationLimits } from '../../shared/config'
import type { Keyset } from '../../shared/cursor'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommentId, CommunityId } from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { mayModerateSql, writerMayModerateSql } from '../rules/moderator-sql'
import { personSql } from '../rules/people-sql'
import { placeSql } from '../rules/places'
import { canReadSql } from '../rules/readable-sql'
import { accounts, adminAccountId } from '../schema/accounts'
import { bans, communities, communityMembers } from '../schema/communities'
import {
  appeals,
  banAppeals,
  contentReports,
  type ModerationAction,
  moderationActions,
  moderationGuard,
} from '../schema/moderation'
import { comments, posts } from '../schema/posts'
import { isAccountShutOutSql } from '../viewers/ban-sql'
import {
  bannedViewerCte,
  type Credential,
  prepareForViewer,
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
  community: placeSql(c),
  authorId: u.id,
  author: personSql(u),
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
  community: placeSql(c),
  postId: x.postId,
  commentId: x.commentId,
  banId: x.banId,
  accountId: u.id,
  account: personSql(u),
  moderatorId: o.id,
  moderator: personSql(o),
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

/** Selects an action about an account, which may not read the community any more. */
export const selectOwnAction = prepare(
  ({ id, accountId }: Params<{ id: string; accountId: AccountId }>) =>
    oneSql(
      actionFields,
      sql`FROM ${actionTables} WHERE ${x.id} = ${id} AND ${x.accountId} = ${accountId}`,
    ),
)

/** Selects an action that was appealed, of a community that the reader reads. */
export const selectAppealed = prepare(({ id, reader }: Params<TargetValues>) =>
  oneSql(
    actionFields,
    sql`FROM ${actionTables} WHERE ${x.id} = ${id} AND ${z.actionId} IS NOT NULL
      AND ${canReadSql(x.communityId, reader)}`,
  ),
)

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
  community: placeSql(c),
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

/** Selects a report of a community that the reader reads. */
export const selectReport = prepare(({ id, reader }: Params<TargetValues>) =>
  oneSql(
    { ...reportFields, communityId: r.communityId, accountId: r.accountId },
    sql`FROM ${contentReports} ${r} JOIN ${communities} ${c} ON ${c.id} = ${r.communityId}
      WHERE ${r.id} = ${id} AND ${canReadSql(r.communityId, reader)}`,
  ),
)

const banFields = {
  id: b.id,
  kind: b.kind,
  reason: b.reason,
  accountId: u.id,
  account: personSql(u),
  communityId: c.id,
  community: placeSql(c),
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

/** Selects a mute or a ban in a community that the reader reads. */
export const selectBan = prepare(({ id, reader }: Params<TargetValues>) =>
  oneSql(banFields, sql`FROM ${banTables} WHERE ${b.id} = ${id} AND ${canReadSql(c.id, reader)}`),
)

/** Who moderates, and where. */
interface Moderating {
  accountId: AccountId
  /** The activation of an agent in a run; null for everybody else. */
  activationId: ActivationId | null
  communityId: CommunityId
}
const q = alias(posts, 'q')
const a = alias(accounts, 'a')
const n = alias(communityMembers, 'n')

/** Fails its batch with a name of `moderationConstraints`, unless that is NULL. */
const failWith = (name: SQL): Statement<void> =>
  write(
    insertSelect(
      moderationGuard,
      { name: sql`name` },
      sql`FROM (SELECT ${name} AS name) WHERE name IS NOT NULL`,
    ),
  )

const isForbiddenSql = (v: Params<Moderating>): SQL =>
  sql`NOT ${writerMayModerateSql(v, v.communityId)}`

/** What moderators do to a post or a comment. */
export type ContentAction = Exclude<ModerationAction['kind'], 'mute' | 'ban' | 'lift'>

interface OnContent extends Moderating {
  postId: string
  /** Null for the post itself. */
  commentId: string | null
  action: ContentAction
  /** The removal that a restoration ends. */
  removalId: string | null
}

/**
 * Fails its batch unless the account may moderate there, and the action changes something. A fourth pinned
 * post of a community fails it, also when two are pinned at the same time.
 */
export const guardContent: (on: OnContent) => Statement<void> = prepare((v: Params<OnContent>) =>
  failWith(sql`CASE WHEN ${isForbiddenSql(v)} THEN 'moderation_forbidden' ELSE (
    SELECT CASE
      WHEN NOT CASE ${v.action}
        WHEN 'remove' THEN iif(${v.commentId} IS NULL, ${p.deletedAt}, ${m.deletedAt}) IS NULL
        WHEN 'restore' THEN coalesce(iif(${v.commentId} IS NULL, ${p.removalId}, ${m.removalId}) = ${v.removalId}, 0)
        WHEN 'lock' THEN ${p.isLocked} = 0 AND ${p.deletedAt} IS NULL
        WHEN 'unlock' THEN ${p.isLocked} = 1
        WHEN 'pin' THEN ${p.pinnedAt} IS NULL AND ${p.deletedAt} IS NULL
        ELSE ${p.pinnedAt} IS NOT NULL END THEN 'moderation_unchanged'
      WHEN ${v.action} = 'pin' AND (SELECT count(*) FROM ${posts} ${q} WHERE ${q.communityId} = ${p.communityId}
        AND ${q.pinnedAt} IS NOT NULL AND ${q.deletedAt} IS NULL) >= ${sql.raw(String(moderationLimits.pinsMax))}
        THEN 'moderation_pins' END
    FROM ${posts} ${p} ${unfiltered('guarded write')} LEFT JOIN ${comments} ${m} ON ${m.id} = ${v.commentId} WHERE ${p.id} = ${v.postId}) END`),
)

interface OfAccount extends Moderating {
  targetId: AccountId
  kind: 'mute' | 'ban'
  now: number
}

/** Fails its batch unless the account may mute or ban the other there, and has not yet. */
export const guardBan: (ban: OfAccount) => Statement<void> = prepare((v: Params<OfAccount>) =>
  failWith(sql`CASE WHEN ${isForbiddenSql(v)} THEN 'moderation_forbidden'
    WHEN ${mayModerateSql(v.targetId, v.communityId)} THEN 'moderation_of_moderator'
    WHEN EXISTS (SELECT 1 FROM ${bans} ${b} WHERE ${b.accountId} = ${v.targetId} AND ${b.communityId} = ${v.communityId}
      AND ${b.kind} = ${v.kind} AND ${b.liftedAt} IS NULL AND (${b.endsAt} IS NULL OR ${b.endsAt} > ${v.now}))
      THEN 'moderation_unchanged' END`),
)

/** Fails its batch unless the account may moderate there, and the ban still holds. */
export const guardLift: (lift: Moderating & { banId: string; now: number }) => Statement<void> =
  prepare((v: Params<Moderating & { banId: string; now: number }>) =>
    failWith(sql`CASE WHEN ${isForbiddenSql(v)} THEN 'moderation_forbidden'
    WHEN NOT EXISTS (SELECT 1 FROM ${bans} ${b} WHERE ${b.id} = ${v.banId} AND ${b.liftedAt} IS NULL
      AND (${b.endsAt} IS NULL OR ${b.endsAt} > ${v.now})) THEN 'moderation_unchanged' END`),
  )

/** Whether anybody but the moderator who acted may decide the appeal. */
const hasOtherModeratorSql = sql`EXISTS (
  SELECT 1 FROM ${accounts} ${a} WHERE ${a.id} <> ${x.moderatorId} AND (${a.role} = 'admin' OR (${a.role} <> 'guest'
    AND (${a.isModerator} = 1 OR EXISTS (SELECT 1 FROM ${communityMembers} ${n} WHERE ${n.accountId} = ${a.id}
      AND ${n.communityId} = ${x.communityId} AND ${n.role} = 'moderator')))))`

/**
 * Fails its batch unless the account may moderate there, the appeal is open, and somebody else acted. Who
 * is the only moderator decides alone.
 */
export const guardDecision: (decision: Moderating & { actionId: string }) => Statement<void> =
  prepare((v: Params<Moderating & { actionId: string }>) =>
    failWith(sql`CASE WHEN ${isForbiddenSql(v)} THEN 'moderation_forbidden' ELSE (
      SELECT CASE WHEN ${z.outcome} IS NOT NULL THEN 'moderation_unchanged'
        WHEN ${x.moderatorId} = ${v.accountId} AND ${hasOtherModeratorSql} THEN 'moderation_own_action' END
      FROM ${appeals} ${z} JOIN ${moderationActions} ${x} ON ${x.id} = ${z.actionId}
      WHERE ${z.actionId} = ${v.actionId}) END`),
  )

/** Fails its batch unless the account may moderate there, and the report is open. */
export const guardDismissal: (dismissal: Moderating & { reportId: string }) => Statement<void> =
  prepare((v: Params<Moderating & { reportId: string }>) =>
    failWith(sql`CASE WHEN ${isForbiddenSql(v)} THEN 'moderation_forbidden'
      WHEN NOT EXISTS (SELECT 1 FROM ${contentReports} ${r} WHERE ${r.id} = ${v.reportId} AND ${r.closedAt} IS NULL)
      THEN 'moderation_unchanged' END`),
  )

/** Fails its batch when the account has made as many reports as are allowed since a time. */
export const guardReports: (by: { accountId: AccountId; since: number }) => Statement<void> =
  prepare((v: Params<{ accountId: AccountId; since: number }>) =>
    failWith(sql`iif((SELECT count(*) FROM ${contentReports} ${r} WHERE ${r.accountId} = ${v.accountId}
      AND ${r.createdAt} > ${v.since}) >= ${sql.raw(String(moderationLimits.reportsPerHourMax))}, 'moderation_reports', NULL)`),
  )

const banAppeal = alias(banAppeals, 'z')
const by = alias(accounts, 'by')

const hubBanFields = {
  id: b.id,
  kind: b.kind,
  reason: b.reason,
  createdAt: b.createdAt,
  endsAt: b.endsAt,
  appeal: nullable(banAppeal.text),
  appealedAt: nullable(banAppeal.createdAt),
  outcome: nullable(banAppeal.outcome),
  outcomeReason: nullable(banAppeal.reason),
}

/** A ban or a mute of the whole hub that holds, with its appeal. */
export type HubBanRow = RowOf<typeof hubBanFields>

const holdsSql = (now: Params<{ now: number }>['now']) => sql`
  ${b.communityId} IS NULL AND ${b.liftedAt} IS NULL AND (${b.endsAt} IS NULL OR ${b.endsAt} > ${now})`

/** Selects the bans and mutes of the whole hub that hold for the viewer, who may be banned. */
export const selectOwnBans = prepareForViewer((v) =>
  manySql(
    hubBanFields,
    sql`FROM ${bans} ${b} LEFT JOIN ${banAppeals} ${banAppeal} ON ${banAppeal.banId} = ${b.id}
      WHERE ${b.accountId} = (SELECT ${viewer.id} FROM ${viewer}) AND ${holdsSql(v.now)}
      ORDER BY ${b.createdAt} DESC, ${b.id} DESC LIMIT 50`,
    bannedViewerCte(v),
  ),
)

const appealedFields = {
  ...hubBanFields,
  accountId: u.id,
  account: personSql(u),
  by: personSql(by),
}

/** A ban or a mute of the whole hub with whom it is about and who made it. */
export type AppealedBanRow = RowOf<typeof appealedFields>

const appealedTables = sql`${bans} ${b} JOIN ${accounts} ${u} ON ${u.id} = ${b.accountId}
  JOIN ${accounts} ${by} ON ${by.id} = ${b.createdBy} LEFT JOIN ${banAppeals} ${banAppeal} ON ${banAppeal.banId} = ${b.id}`

/** Selects a ban or a mute of the whole hub that holds. */
export const selectHubBan = prepare((v: Params<{ id: string; now: number }>) =>
  oneSql(
    appealedFields,
    sql`FROM ${appealedTables} WHERE ${b.id} = ${v.id} AND ${holdsSql(v.now)}`,
  ),
)

/** A page, oldest first. `after` is time of the appeal and id of the ban of the last row of the previous one. */
interface AppealsPage {
  after: Keyset | null
  limit: number
}

const preparedOpen = prepare(
  (v: Params<ViewerValues & { afterAt: number; afterId: string; limit: number }>) =>
    manySql(
      appealedFields,
      sql`FROM ${appealedTables} WHERE ${banAppeal.outcome} IS NULL AND ${banAppeal.banId} IS NOT NULL
        AND EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin')
        AND (${banAppeal.createdAt}, ${banAppeal.banId}) > (${v.afterAt}, ${v.afterId})
      ORDER BY ${banAppeal.createdAt}, ${banAppeal.banId} LIMIT ${v.limit}`,
      viewerCte(v),
    ),
)

/** Selects open appeals of bans and mutes of the whole hub, oldest first; none unless the viewer is an admin. */
export const selectOpenBanAppeals = (
  credential: Credential | null,
  now: number,
  { after, limit }: AppealsPage,
): Statement<AppealedBanRow[]> => {
  const [afterAt, afterId] = after ?? [0, '']
  return preparedOpen({ ...viewerValues(credential, now), afterAt, afterId, limit })
}

export const insertBanAppeal = (appeal: typeof banAppeals.$inferInsert): Statement<void> =>
  write(orm.insert(banAppeals).values(appeal))

interface Decision {
  banId: string
  outcome: 'upheld' | 'reversed'
  reason: string
  decidedBy: AccountId
  now: number
}

export const decideBanAppealStatement = ({ banId, now, ...decision }: Decision): Statement<void> =>
  write(
    updateSet(
      banAppeals,
      { ...decision, decidedAt: now },
      sql`WHERE ${banAppeals.banId} = ${banId} AND ${banAppeals.outcome} IS NULL`,
    ),
  )

interface Deciding {
  accountId: AccountId
  banId: string
  /** Whether somebody can act as the built-in admin account. */
  hasAdminKey: boolean
  now: number
}

/**
 * Fails its batch unless the appeal is open and another admin than this one banned or muted. The only admin
 * who can act decides alone.
 */
export const guardBanDecision: (deciding: Deciding) => Statement<void> = prepare(
  (v: Params<Deciding>) =>
    failWith(sql`(SELECT CASE WHEN ${banAppeal.outcome} IS NOT NULL THEN 'moderation_unchanged'
        WHEN ${b.createdBy} = ${v.accountId} AND EXISTS (
          SELECT 1 FROM ${accounts} ${o} WHERE ${o.role} = 'admin' AND ${o.id} NOT IN (${b.createdBy}, ${b.accountId})
            AND (${o.id} <> ${sql.raw(`'${adminAccountId}'`)} OR ${v.hasAdminKey})
            AND NOT ${isAccountShutOutSql(o, v.now)}) THEN 'moderation_own_action' END
      FROM ${banAppeals} ${banAppeal} JOIN ${bans} ${b} ON ${b.id} = ${banAppeal.banId} WHERE ${banAppeal.banId} = ${v.banId})`),
)
