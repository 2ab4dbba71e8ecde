import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { manySql, orm, type Statement, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { deleteHeldOf } from '../agents/held-queries'
import { deleteReviewsOf } from '../agents/review-queries'
import { deleteSubscriptions } from '../communities/subscription-queries'
import { deletePastAccess, keepRoles } from '../database/past-access-queries'
import { unfiltered } from '../database/unfiltered-sql'
import { deleteMailOf } from '../mail/queries'
import { deleteUses } from '../media/queries'
import { deleteVersionsBy } from '../posts/version-queries'
import { tombstone } from '../rules/people-sql'
import {
  accounts,
  apiKeys,
  claims,
  formerNames,
  identities,
  invitations,
  passkeys,
  runnerKeys,
} from '../schema/accounts'
import { activations, activationTraces, runFeedback, runViews } from '../schema/activations'
import { approvals, grantPolicies, standingRules } from '../schema/approvals'
import { adminLog, auditLog } from '../schema/audit'
import { bans, communities, communityMembers } from '../schema/communities'
import { agents, explorers, schedules } from '../schema/definitions'
import { conversationMembers, conversations, directMessages } from '../schema/dms'
import { inboxItems, notificationSettings } from '../schema/inbox'
import { appeals, banAppeals, contentReports, moderationActions } from '../schema/moderation'
import { comments, mentions, posts, visits } from '../schema/posts'
import { idempotencyKeys } from '../schema/system'
import { deleteTriggersOf } from '../triggers/queries'
import { deleteWebhooksOf } from '../webhooks/queries'

const p = alias(posts, 'dp')
const n = alias(comments, 'dn')
const x = alias(activations, 'dx')
const t = alias(activationTraces, 'dt')

/** The threads in which an account wrote. */
const threadsSql = (id: AccountId): SQL => sql`( ${unfiltered('operator')}
  SELECT ${p.id} FROM ${posts} ${p} WHERE ${p.authorId} = ${id}
  UNION SELECT ${n.postId} FROM ${comments} ${n} WHERE ${n.authorId} = ${id})`

/**
 * Runs that can have read words of an account: its own, those for it, those in its threads, and those
 * whose trace names it, lanes of replays among these.
 */
export const affectedRunsSql = ({ id, name }: { id: AccountId; name: string }): SQL => sql`(
  SELECT ${x.id} FROM ${activations} ${x} WHERE ${x.agentId} = ${id} OR ${x.postId} IN ${threadsSql(id)}
    OR EXISTS (SELECT 1 FROM json_each(${x.requesters}) r WHERE r.value = ${id})
  UNION SELECT ${t.activationId} FROM ${activationTraces} ${t}
    WHERE instr(${t.trace}, ${`@${name}`}) > 0 OR instr(${t.trace}, ${`"${name}\\`}) > 0)`

const runFields = {
  id: x.id,
  agentId: x.agentId,
  state: x.state,
  startedAt: x.startedAt,
  finishedAt: x.finishedAt,
}

export type AffectedRun = RowOf<typeof runFields>

export const selectAffectedRuns = (account: {
  id: AccountId
  name: string
}): Statement<AffectedRun[]> =>
  manySql(
    runFields,
    sql`FROM ${activations} ${x} WHERE ${x.id} IN ${affectedRunsSql(account)} ORDER BY ${x.id}`,
  )

export const selectThreads = (id: AccountId): Statement<{ id: string }[]> =>
  manySql({ id: sql<string>`id` }, sql`FROM ${threadsSql(id)}`)

/** Frees the name of an account, empties its profile, and deletes what it had: keys, places, grants. */
export const deleteProfile = (id: AccountId, now: number) => ({
  inbox: write(orm.delete(inboxItems).where(eq(inboxItems.accountId, id))),
  keys: write(orm.delete(apiKeys).where(eq(apiKeys.accountId, id))),
  runnerKeys: write(orm.delete(runnerKeys).where(eq(runnerKeys.accountId, id))),
  claim: write(orm.delete(claims).where(eq(claims.accountId, id))),
  names: write(orm.delete(formerNames).where(eq(formerNames.accountId, id))),
  places: write(orm.delete(communityMembers).where(eq(communityMembers.accountId, id))),
  past: deletePastAccess(id),
  policy: write(orm.delete(grantPolicies).where(eq(grantPolicies.accountId, id))),
  mentions: write(orm.delete(mentions).where(eq(mentions.accountId, id))),
  visits: write(orm.delete(visits).where(eq(visits.accountId, id))),
  stored: write(orm.delete(idempotencyKeys).where(eq(idempotencyKeys.accountId, id))),
  schedules: write(orm.delete(schedules).where(eq(schedules.accountId, id))),
  explorer: write(orm.delete(explorers).where(eq(explorers.accountId, id))),
  held: deleteHeldOf(id),
  agent: write(orm.delete(agents).where(eq(agents.accountId, id))),
  conversations: write(
    updateSet(
      conversations,
      { status: 'rejected' },
      sql`WHERE ${conversations.id} IN (SELECT ${conversationMembers.conversationId}
        FROM ${conversationMembers} WHERE ${conversationMembers.accountId} = ${id})`,
    ),
  ),
  members: write(orm.delete(conversationMembers).where(eq(conversationMembers.accountId, id))),
  invitations: write(
    updateSet(
      invitations,
      { revokedAt: now },
      sql`WHERE ${invitations.createdBy} = ${id} AND ${invitations.usedAt} IS NULL
        AND ${invitations.revokedAt} IS NULL`,
    ),
  ),
  notes: write(updateSet(invitations, { note: '' }, sql`WHERE ${invitations.usedBy} = ${id}`)),
  // Nobody vouches for the agents that it had claimed any more; what stopped it stops them.
  ownedRoles: keepRoles(sql`${accounts.ownerId} = ${id}`, 'guest', now),
  owned: write(
    updateSet(
      accounts,
      { ownerId: null, role: 'guest', disabledAt: sql`coalesce(${accounts.disabledAt}, ${now})` },
      sql`WHERE ${accounts.ownerId} = ${id}`,
    ),
  ),
  passkeys: write(orm.delete(passkeys).where(eq(passkeys.accountId, id))),
  notificationSettings: write(
    orm.delete(notificationSettings).where(eq(notificationSettings.accountId, id)),
  ),
  feedback: write(
    sql`DELETE FROM ${runFeedback} WHERE ${runFeedback.accountId} = ${id} OR ${runFeedback.agentId} = ${id}`,
  ),
  runViews: write(orm.delete(runViews).where(eq(runViews.accountId, id))),
  identities: write(orm.delete(identities).where(eq(identities.accountId, id))),
  avatar: deleteUses(id),
  ...deleteSubscriptions(id),
  ...deleteWebhooksOf(id),
  ...deleteReviewsOf(id),
  ...deleteTriggersOf(id),
  ...deleteMailOf(id),
  account: write(updateSet(accounts, tombstone(now), sql`WHERE ${accounts.id} = ${id}`)),
  // The log keeps its id. It lets go of names only for an account that is deleted.
  formerNamesInLog: write(
    updateSet(
      adminLog,
      { before: null, after: null },
      sql`WHERE ${adminLog.targetId} = ${id} AND ${adminLog.action} = 'account.rename'`,
    ),
  ),
})

const writtenPost = alias(posts, 'wp')

/** Nothing that shows what was written: the text, and the HTML that was rendered from it. */
const noText = { content: '', html: null, htmlVersion: 0 }

/** The same of a text that search finds. */
const noIndexedText = { ...noText, searchContent: null }

/** A text that a moderator removed counts as deleted by its author, so that nobody restores it empty. */
const noContent = { ...noIndexedText, removalId: null }

/**
 * Empties everything that an account wrote, and deletes what was derived from it: traces, arguments of
 * calls, and texts of inbox items. Search follows by its triggers. Runs are found by the name, so these
 * statements come before the one that frees it.
 */
export function deleteWords(account: { id: AccountId; name: string }, now: number) {
  const { id } = account
  const isAffected = affectedRunsSql(account)
  return {
    approvals: write(
      updateSet(
        approvals,
        {
          arguments: '{}',
          maskedArguments: '{}',
          note: '',
          status: sql`iif(${approvals.status} = 'pending', 'cancelled', ${approvals.status})`,
        },
        sql`WHERE ${approvals.accountId} = ${id} OR ${approvals.activationId} IN ${isAffected}`,
      ),
    ),
    rules: write(
      sql`DELETE FROM ${standingRules} WHERE ${standingRules.agentId} = ${id}
        OR ${standingRules.requesterId} = ${id} OR ${standingRules.activationId} IN ${isAffected}`,
    ),
    audit: write(
      updateSet(
        auditLog,
        { arguments: null },
        sql`WHERE (${auditLog.accountId} = ${id} OR ${auditLog.activationId} IN ${isAffected})
          AND ${auditLog.arguments} IS NOT NULL`,
      ),
    ),
    errors: write(
      updateSet(
        activations,
        { error: null },
        sql`WHERE ${activations.id} IN ${isAffected} AND ${activations.error} IS NOT NULL`,
      ),
    ),
    // After those that find runs by their traces.
    traces: write(
      sql`DELETE FROM ${activationTraces} WHERE ${activationTraces.activationId} IN ${isAffected}`,
    ),
    items: write(
      updateSet(
        inboxItems,
        { content: '', request: null },
        sql`WHERE ${inboxItems.fromAccountId} = ${id} OR ${inboxItems.postId} IN ${threadsSql(id)}`,
      ),
    ),
    versions: deleteVersionsBy(id),
    ...deleteContributions(id, now),
    ...deleteFromModeration(id),
    messages: write(
      updateSet(directMessages, noText, sql`WHERE ${directMessages.authorId} = ${id}`),
    ),
  }
}

/** Deletes what an account wrote to moderators. What moderators did stays, with their reasons. */
const deleteFromModeration = (id: AccountId) => ({
  appeals: write(
    updateSet(
      appeals,
      { text: '' },
      sql`WHERE ${appeals.actionId} IN (SELECT ${moderationActions.id} FROM ${moderationActions}
        WHERE ${moderationActions.accountId} = ${id})`,
    ),
  ),
  banAppeals: write(
    updateSet(
      banAppeals,
      { text: '' },
      sql`WHERE ${banAppeals.banId} IN (SELECT ${bans.id} FROM ${bans} WHERE ${bans.accountId} = ${id})`,
    ),
  ),
  reports: write(
    updateSet(contentReports, { reason: '' }, sql`WHERE ${contentReports.accountId} = ${id}`),
  ),
})

/** Empties posts and comments of an account, which no longer count. */
const deleteContributions = (id: AccountId, now: number) => ({
  counts: write(
    updateSet(
      communities,
      {
        postCount: sql`${communities.postCount} - (SELECT count(*) FROM ${posts} ${writtenPost} ${unfiltered('counter')}
          WHERE ${writtenPost.communityId} = ${communities.id} AND ${writtenPost.authorId} = ${id} AND ${writtenPost.deletedAt} IS NULL)`,
      },
      sql`WHERE ${communities.id} IN (SELECT ${writtenPost.communityId} FROM ${posts} ${writtenPost} WHERE ${writtenPost.authorId} = ${id})`,
    ),
  ),
  comments: write(
    updateSet(
      comments,
      { ...noContent, deletedAt: sql`coalesce(${comments.deletedAt}, ${now})` },
      sql`WHERE ${comments.authorId} = ${id}`,
    ),
  ),
  posts: write(
    updateSet(
      posts,
      {
        ...noContent,
        title: '',
        searchTitle: null,
        url: null,
        pinnedAt: null,
        deletedAt: sql`coalesce(${posts.deletedAt}, ${now})`,
      },
      sql`WHERE ${posts.authorId} = ${id}`,
    ),
  ),
})
