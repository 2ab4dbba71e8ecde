import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import type { AccountId } from '../../shared/ids'
import { activations } from '../schema/activations'
import { auditLog } from '../schema/audit'
import { agentDefinitions } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import {
  canReadSql,
  isOpenedSql,
  isPrivateRunSql,
  readersSql,
  selectOpenedUntilSql,
} from './readable-sql'
import { isRunGoneSql } from './shown-sql'

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

/**
 * Whether the reply of a run `x` goes to a thread that the reader reads. What is written on the way to it can quote the
 * account of the requester, who alone reads that.
 */
export const isForThreadSql = (reader: SQLWrapper) =>
  flag(
    sql`${x.postId} IS NOT NULL AND ${x.task} IN ('mention', 'reply') AND ${canReadRunSql(reader)}
      AND (${x.usesOwnAccount} = 0 OR EXISTS (SELECT 1 FROM json_each(${x.requesters}) n
        WHERE n.value IN (SELECT r.id FROM ${readersSql(reader)} r)))`,
  )

/** Why a tool that a run called gave it nothing. */
export type UnmetReason =
  | 'not_granted'
  | 'no_account'
  | 'denied'
  | 'expired'
  | 'needs_approval'
  | 'rate_limited'
  | 'timed_out'
  | 'failed'

/** A tool that a run called without one successful call. */
export interface UnmetCall {
  tool: string
  reason: UnmetReason
}

const u = alias(auditLog, 'u')
const met = alias(auditLog, 'met')

/** Tools that one line names at most. */
const toolsMax = sql.raw('5')

/** By the newest call; the texts of refusals are those of the gateway. */
const reasonSql = sql`CASE
  WHEN ${u.decision} = 'allowed' AND ${u.reason} LIKE 'No connected account %' THEN 'no_account'
  WHEN ${u.decision} = 'allowed' THEN iif(${u.outcome} = 'timeout', 'timed_out', 'failed')
  WHEN ${u.decision} <> 'denied' THEN ${u.decision}
  WHEN ${u.reason} LIKE 'Denied by %' THEN 'denied'
  WHEN ${u.reason} LIKE 'The approval request expired%' THEN 'expired'
  ELSE 'not_granted' END`

/**
 * The tools that an activation called without success. A call with invalid arguments or of an unknown tool is
 * the model's mistake, and a cancelled one ended with the run.
 */
export const unmetCallsSql = (activationId: SQLWrapper): SQL<UnmetCall[]> =>
  sql`(SELECT json_group_array(json_object('tool', n.tool, 'reason', n.why)) FROM (
    SELECT ${u.tool}, ${reasonSql} AS why, max(${u.createdAt}) FROM ${auditLog} ${u}
    WHERE ${u.activationId} = ${activationId} AND ${u.decision} NOT IN ('invalid', 'unknown_tool')
      AND (${u.decision} <> 'allowed' OR ${u.outcome} IN ('error', 'timeout'))
      AND NOT EXISTS (SELECT 1 FROM ${auditLog} ${met} WHERE ${met.activationId} = ${activationId}
        AND ${met.tool} = ${u.tool} AND ${met.outcome} = 'ok')
    GROUP BY ${u.tool} ORDER BY ${u.tool} LIMIT ${toolsMax}) n)`.mapWith(
    (json: string): UnmetCall[] => JSON.parse(json),
  ) as SQL<UnmetCall[]>
