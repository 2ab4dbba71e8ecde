import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import type { AccountId } from '../../shared/ids'
import { canReadSql, readersSql } from '../communities/readable-sql'
import { isOpenedSql, isPrivateRunSql, selectOpenedUntilSql } from '../openings/opened-sql'
import { activations } from '../schema/activations'
import { agentDefinitions } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { isRunGoneSql } from '../shown-sql'

const x = alias(activations, 'x')
const d = alias(agentDefinitions, 'd')
const i = alias(inboxItems, 'i')

/** Whether a reader reads the community of the thread of a run `x`; true without one. */
export const canReadRunSql = (reader: SQLWrapper) =>
  canReadSql(sql`coalesce(${x.communityId}, '')`, reader)

/** The accounts that a run `x` is private to, as JSON. */
export const ownRequestersSql = sql`iif(${isPrivateRunSql(x)}, ${x.requesters}, '[]')`

/** What a run `x` is private to, as behind IN. */
const ownersSql = sql`(SELECT ${x.communityId} UNION ALL SELECT r.value FROM json_each(${ownRequestersSql}) r)`

/** When the last opening ends with which the reader sees a run `x` that is private to others; null without one. */
export const openedUntilSql = (reader: SQLWrapper): SQL<number | null> =>
  selectOpenedUntilSql(ownersSql, reader)

/**
 * Whether the reader, an admin, has to open a run `x` before reading its words: it is private to a community
 * or to others. False without a run.
 */
export const isClosedSql = (reader: SQLWrapper): SQL => sql`(${x.id} IS NOT NULL
  AND NOT ${isOpenedSql(ownersSql, reader)}
  AND (NOT ${canReadRunSql(reader)} OR ((${ownRequestersSql} <> '[]' OR ${x.usesOwnAccount} = 1) AND NOT EXISTS (
    SELECT 1 FROM json_each(${ownRequestersSql}) n WHERE n.value IN (SELECT r.id FROM ${readersSql(reader)} r)))))`

/** Whether an inbox item `i` was assigned by hand or in a message. */
const isGivenSql = sql`(${i.task} = 'manual' OR ${i.type} = 'dm')`

/** The author of the definition that a run `x` ran. */
const definedBySql = sql<AccountId | null>`(SELECT ${d.createdBy} FROM ${agentDefinitions} ${d}
  WHERE ${d.accountId} = ${x.agentId} AND ${d.version} = ${x.definitionVersion})`

/**
 * Whether a reader sees words of the trace of a run `x`: `findTraceAccess` returns more than `none`. What does
 * not depend on the run is read once for a statement.
 */
export const hasTraceAccessSql = (reader: SQLWrapper): SQL => {
  const own = sql`(SELECT r.id FROM ${readersSql(reader)} r)`
  const isAdmin = sql`EXISTS (SELECT 1 FROM ${readersSql(reader)} r WHERE r.role = 'admin')`
  const mayOwn = sql`(${x.usesOwnAccount} = 0 OR EXISTS (
    SELECT 1 FROM json_each(${x.requesters}) n WHERE n.value IN ${own}))`
  return sql`(CASE WHEN ${isAdmin} THEN (${x.agentId} IN ${own} AND ${mayOwn}) OR NOT ${isClosedSql(reader)}
    ELSE ${canReadRunSql(reader)} AND (((${x.agentId} IN ${own} OR coalesce(${definedBySql} IN ${own}, 0)) AND ${mayOwn} AND NOT ${isRunGoneSql(x)})
      OR EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.claimedBy} = ${x.id} AND ${isGivenSql}
        AND ${i.fromAccountId} IN ${own})) END)`
}

/** The condition of `isRunShown` for a run `x`. */
export const isRunShownSql = (reader: SQLWrapper): SQL =>
  sql`((${x.task} <> 'dm' AND ${canReadRunSql(reader)}) OR ${hasTraceAccessSql(reader)})`

/** Columns that decide who may see the private parts; the query has `activations x` in scope. */
export const traceAccessColumns = (reader: SQLWrapper) => ({
  isReadable: flag(canReadRunSql(reader)),
  /** Whether the reader is an admin who opened what the run is private to. */
  isOpened: flag(isOpenedSql(ownersSql, reader)),
  /** Whether it holds words of a post or comment that was deleted or removed. */
  isGone: flag(isRunGoneSql(x)),
  /** Whether it used the account that its requester connected. */
  usesOwnAccount: flag(sql`${x.usesOwnAccount} = 1`),
  /** Accounts that the run is private to: its requesters, by `isPrivateRunSql`. */
  privateTo: sql`${ownRequestersSql}`.mapWith((json: string | null): AccountId[] =>
    JSON.parse(json ?? '[]'),
  ),
  /** Author of the definition version that the activation ran. */
  definedBy: definedBySql,
  /** Accounts that assigned the task by hand or in a message. */
  givenBy: sql`(SELECT json_group_array(DISTINCT ${i.fromAccountId}) FROM ${inboxItems} ${i}
    WHERE ${i.claimedBy} = ${x.id} AND ${isGivenSql}
      AND ${i.fromAccountId} IS NOT NULL)`.mapWith((json: string): AccountId[] => JSON.parse(json)),
})
