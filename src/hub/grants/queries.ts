import type { AccountId } from '../../shared/ids'
import type { CallPolicy, GrantPolicy, RateLimit } from '../contract/hub'
import type { Db } from '../db'

export interface PolicyRow {
  defaultAllowed: string | null
  defaultDenied: string | null
  ownAllowed: string | null
  ownDenied: string | null
  defaultApproval: string | null
  ownApproval: string | null
  defaultLimits: string | null
  ownLimits: string | null
  requested: string | null
  toolsVersion?: number
}

export const selectPolicy = (db: Db, accountId: AccountId | '*'): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT d.allowed AS defaultAllowed, d.denied AS defaultDenied,
              o.allowed AS ownAllowed, o.denied AS ownDenied, g.grants AS requested,
              d.require_approval AS defaultApproval, o.require_approval AS ownApproval,
              d.rate_limits AS defaultLimits, o.rate_limits AS ownLimits,
              (SELECT version FROM tools_version) AS toolsVersion
       FROM (SELECT ?1 AS id) x
       LEFT JOIN grant_policies d ON d.account_id = '*'
       LEFT JOIN grant_policies o ON o.account_id = x.id
       LEFT JOIN agents g ON g.account_id = x.id`,
    )
    .bind(accountId)

/** Returns the row of `selectPolicy`, which exists for any account. */
export function readPolicyRow(results: unknown[]): PolicyRow {
  const row = results[0]
  if (row === undefined) throw new Error('selectPolicy returned no row')
  return row as PolicyRow
}

export const upsertPolicy = (
  db: Db,
  accountId: AccountId | '*',
  policy: Omit<CallPolicy, 'requested'> & { by: AccountId; now: number },
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO grant_policies (account_id, allowed, denied, require_approval, rate_limits, updated_by, updated_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
       ON CONFLICT (account_id) DO UPDATE SET allowed = excluded.allowed, denied = excluded.denied,
         require_approval = excluded.require_approval, rate_limits = excluded.rate_limits,
         updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
    )
    .bind(
      accountId,
      JSON.stringify(policy.allowed),
      JSON.stringify(policy.denied),
      JSON.stringify(policy.requireApproval),
      JSON.stringify(policy.rateLimits),
      policy.by,
      policy.now,
    )

const readList = <Entry = string>(json: string | null): Entry[] =>
  json === null ? [] : JSON.parse(json)

/**
 * Returns the grants that apply to an account: its own allowed grants replace those of the default,
 * and the denied grants of both apply.
 */
export function mergePolicy(row: PolicyRow): GrantPolicy {
  return {
    requested: row.requested === null ? null : readList(row.requested),
    allowed: readList(row.ownAllowed ?? row.defaultAllowed),
    denied: [...new Set([...readList(row.defaultDenied), ...readList(row.ownDenied)])],
    ...(row.toolsVersion && { toolsVersion: row.toolsVersion }),
  }
}

/** Returns `mergePolicy` with approval rules and rate limits; those of both rows apply. */
export const mergeCallPolicy = (row: PolicyRow): CallPolicy => ({
  ...mergePolicy(row),
  requireApproval: [...new Set([...readList(row.defaultApproval), ...readList(row.ownApproval)])],
  rateLimits: [...readList<RateLimit>(row.defaultLimits), ...readList<RateLimit>(row.ownLimits)],
})
