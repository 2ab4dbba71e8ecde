import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { accounts } from '../schema/accounts'
import { communities } from '../schema/communities'
import { isAccountShutOutSql } from '../viewers/ban-sql'
import { mayModerateSql } from './moderator-sql'
import { canAccountReadSql } from './readable-sql'

const m = alias(communities, 'webhook_place')

const isPrivateSql = (community: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${communities} ${m} WHERE ${m.id} = ${community} AND ${m.visibility} = 'private')`

type Owner = Readonly<
  Record<keyof Pick<typeof accounts, 'id' | 'role' | 'ownerId' | 'disabledAt'>, SQLWrapper>
>

/**
 * Whether an account may have a webhook of a place: for the whole hub an admin, for a private community its
 * moderators, for any other one who reads it and is no guest.
 *
 * @param community null in SQL: the whole hub
 */
export const mayHaveWebhookSql = (owner: Owner, community: SQLWrapper): SQL => sql`(
  (${owner.role} = 'admin' OR (${owner.role} = 'member' AND ${community} IS NOT NULL))
  AND (${community} IS NULL OR (${canAccountReadSql(community, owner)}
    AND (NOT ${isPrivateSql(community)} OR ${mayModerateSql(owner.id, community)}))))`

/** What is sent to a webhook, and where it happened. */
interface Sent {
  event: SQLWrapper
  /** Null in SQL: in no community. */
  community: SQLWrapper
  /** Of the webhook; null in SQL: the whole hub. */
  place: SQLWrapper
  owner: Owner
  now: SQLWrapper
}

/**
 * Whether the owner of a webhook may be sent an event now. It is asked when the event is queued and when it is sent.
 * Approvals and budgets are for admins, reports for those who moderate where they were made.
 */
export const mayReceiveSql = ({ event, community, place, owner, now }: Sent): SQL => sql`(
  ((${place} IS NULL AND ${owner.role} = 'admin') OR ${place} = ${community})
  AND (${community} IS NULL OR ${mayHaveWebhookSql(owner, community)})
  AND (${event} NOT IN ('approval.requested', 'budget.level') OR ${owner.role} = 'admin')
  AND (${event} <> 'report.created' OR ${mayModerateSql(owner.id, community)})
  AND NOT ${isAccountShutOutSql(owner, now)})`
