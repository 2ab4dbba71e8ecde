import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { unfiltered } from '../communities/readable-sql'
import { activations, activationTraces } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { auditLog } from '../schema/audit'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { directMessages } from '../schema/dms'
import { inboxItems } from '../schema/inbox'
import { appeals, banAppeals, contentReports, moderationActions } from '../schema/moderation'
import { bans } from '../schema/places'
import { posts } from '../schema/posts'
import { standingRules } from '../schema/standing-rules'
import { affectedRunsSql, threadsSql } from './delete-queries'

const p = alias(posts, 'wp')

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
        { content: '' },
        sql`WHERE ${inboxItems.fromAccountId} = ${id} OR ${inboxItems.postId} IN ${threadsSql(id)}`,
      ),
    ),
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
        postCount: sql`${communities.postCount} - (SELECT count(*) FROM ${posts} ${p} ${unfiltered('counter')}
          WHERE ${p.communityId} = ${communities.id} AND ${p.authorId} = ${id} AND ${p.deletedAt} IS NULL)`,
      },
      sql`WHERE ${communities.id} IN (SELECT ${p.communityId} FROM ${posts} ${p} WHERE ${p.authorId} = ${id})`,
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
