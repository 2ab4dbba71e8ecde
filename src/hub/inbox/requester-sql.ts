import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { accounts } from '../schema/accounts'

const r = alias(accounts, 'r')

/** Columns of an inbox item that say for whom it is. */
type Item = Record<'requesters' | 'fromAccountId', SQLWrapper>

/** The accounts that an inbox item acts for, as a JSON list of ids; empty: the hub itself. */
export const requestersOfItemSql = ({ requesters, fromAccountId }: Item): SQL =>
  sql`coalesce(${requesters}, json_array(${fromAccountId}))`

/** The lowest role of the accounts in a JSON list, in ascending order; the hub itself is above all. */
const rankSql = (requesters: SQL): SQL => sql`
  iif(${requesters} = '[]', 3, coalesce((SELECT min(CASE ${r.role} WHEN 'guest' THEN 0 WHEN 'member' THEN 1 ELSE 2 END)
    FROM ${accounts} ${r} WHERE ${r.id} IN (SELECT value FROM json_each(${requesters}))), 0))`

/** Whether the accounts in a JSON list are guests. */
export const isForGuestSql = (requesters: SQL): SQL => sql`(${rankSql(requesters)} = 0)`

/**
 * Whether one run may answer two inbox items: those of requesters with the same role; a guest's only with
 * those of the same guest.
 */
export const canShareRunSql = (item: Item, first: Item): SQL => {
  const [own, other] = [requestersOfItemSql(item), requestersOfItemSql(first)]
  return sql`(${own} = ${other}
    OR (${rankSql(own)} = ${rankSql(other)} AND ${rankSql(own)} > 0))`
}

/** Whether a claimed inbox item is a request of its author: a decision and a moderator's comment are not. */
export const isRequestSql = ({ type, cause }: Record<'type' | 'cause', SQLWrapper>): SQL =>
  sql`(${type} <> 'approval_decision' AND coalesce(${cause}, '') <> 'moderation')`
