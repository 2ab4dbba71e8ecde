import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { auditLog } from '../schema/audit'

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
