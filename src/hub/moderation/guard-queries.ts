import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { moderationLimits } from '../../shared/config'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommunityId } from '../../shared/ids'
import { unfiltered } from '../communities/readable-sql'
import { mayModerateSql, writerMayModerateSql } from '../moderators/moderator-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import {
  appeals,
  contentReports,
  type ModerationAction,
  moderationActions,
  moderationGuard,
} from '../schema/moderation'
import { bans, communityMembers } from '../schema/places'
import { posts } from '../schema/posts'

/** Who moderates, and where. */
export interface Moderating {
  accountId: AccountId
  /** The activation of an agent in a run; null for everybody else. */
  activationId: ActivationId | null
  communityId: CommunityId
}

const p = alias(posts, 'p')
const q = alias(posts, 'q')
const m = alias(comments, 'm')
const b = alias(bans, 'b')
const x = alias(moderationActions, 'x')
const z = alias(appeals, 'z')
const r = alias(contentReports, 'r')
const a = alias(accounts, 'a')
const n = alias(communityMembers, 'n')

/** Fails its batch with a name of `moderationConstraints`, unless that is NULL. */
export const failWith = (name: SQL): Statement<void> =>
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
