import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { manySql, orm, type Statement, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { tombstone } from '../claims/tombstone-sql'
import { unfiltered } from '../communities/readable-sql'
import { deleteHooksOf } from '../review-hooks/queries'
import { accounts } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import { adminLog } from '../schema/admin-log'
import { comments } from '../schema/comments'
import { agents } from '../schema/definitions'
import { conversationMembers, conversations } from '../schema/dms'
import { explorers, schedules } from '../schema/exploration'
import { grantPolicies } from '../schema/grants'
import { idempotencyKeys } from '../schema/idempotency'
import { inboxItems } from '../schema/inbox'
import { apiKeys } from '../schema/keys'
import { mentions } from '../schema/mentions'
import { claims, formerNames, invitations } from '../schema/people'
import { communityMembers } from '../schema/places'
import { posts } from '../schema/posts'
import { pushSettings } from '../schema/push'
import { runFeedback, runViews } from '../schema/run-feedback'
import { runnerKeys } from '../schema/runners'
import { identities, passkeys } from '../schema/sign-in'
import { deleteSubscriptions } from '../subscriptions/queries'

const p = alias(posts, 'dp')
const n = alias(comments, 'dn')
const x = alias(activations, 'dx')
const t = alias(activationTraces, 'dt')

/** The threads in which an account wrote. */
export const threadsSql = (id: AccountId): SQL => sql`( ${unfiltered('operator')}
  SELECT ${p.id} FROM ${posts} ${p} WHERE ${p.authorId} = ${id}
  UNION SELECT ${n.postId} FROM ${comments} ${n} WHERE ${n.authorId} = ${id})`

/**
 * Runs that can have read words of an account: its own, those for it, those in its threads, and those
 * whose trace names it.
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
  policy: write(orm.delete(grantPolicies).where(eq(grantPolicies.accountId, id))),
  mentions: write(orm.delete(mentions).where(eq(mentions.accountId, id))),
  stored: write(orm.delete(idempotencyKeys).where(eq(idempotencyKeys.accountId, id))),
  schedules: write(orm.delete(schedules).where(eq(schedules.accountId, id))),
  explorer: write(orm.delete(explorers).where(eq(explorers.accountId, id))),
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
  owned: write(
    updateSet(
      accounts,
      { ownerId: null, role: 'guest', disabledAt: sql`coalesce(${accounts.disabledAt}, ${now})` },
      sql`WHERE ${accounts.ownerId} = ${id}`,
    ),
  ),
  passkeys: write(orm.delete(passkeys).where(eq(passkeys.accountId, id))),
  pushSettings: write(orm.delete(pushSettings).where(eq(pushSettings.accountId, id))),
  feedback: write(
    sql`DELETE FROM ${runFeedback} WHERE ${runFeedback.accountId} = ${id} OR ${runFeedback.agentId} = ${id}`,
  ),
  runViews: write(orm.delete(runViews).where(eq(runViews.accountId, id))),
  identities: write(orm.delete(identities).where(eq(identities.accountId, id))),
  ...deleteSubscriptions(id),
  ...deleteHooksOf(id),
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
