import type { AccountId } from '../../shared/ids'
import type { AccountKind, CallPolicy, RateLimit } from '../contract/hub'
import type { Db } from '../db'
import { type Credential, viewerParams, viewerSql } from '../keys/queries'
import type { Policy } from './policy-body'
import { mergeCallPolicy, type PolicyRow } from './queries'

/** The default policy, or an account with its own policy or with requested grants. */
export interface AccountPolicyRow extends PolicyRow {
  /** `*` is the default. */
  id: AccountId | '*'
  name: string
  kind: AccountKind
  /** Update time of the account's own policy; null without one. */
  updatedAt: number | null
  updatedBy: string | null
}

const accountsMax = 500

const columns = `
  d.allowed AS defaultAllowed, d.denied AS defaultDenied, d.require_approval AS defaultApproval,
  d.rate_limits AS defaultLimits, o.allowed AS ownAllowed, o.denied AS ownDenied,
  o.require_approval AS ownApproval, o.rate_limits AS ownLimits, g.grants AS requested,
  (SELECT version FROM tools_version) AS toolsVersion,
  o.updated_at AS updatedAt, u.name AS updatedBy`

const tables = `
  LEFT JOIN grant_policies d ON d.account_id = '*'
  LEFT JOIN grant_policies o ON o.account_id = a.id
  LEFT JOIN agents g ON g.account_id = a.id
  LEFT JOIN accounts u ON u.id = o.updated_by`

/** Selects the default policy, then agents and accounts with their own rules, and the account `name`. */
export const selectPolicies = (db: Db, name: string | null): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT a.id, a.name, a.kind, ${columns}
       FROM (SELECT '*' AS id, '*' AS name, 'system' AS kind UNION ALL
         SELECT * FROM (SELECT id, name, kind FROM accounts WHERE name = ?1 OR id IN
           (SELECT account_id FROM agents UNION SELECT account_id FROM grant_policies)
         ORDER BY name = ?1 DESC, name LIMIT ?2)) a ${tables}
       ORDER BY a.id <> '*', a.name`,
    )
    .bind(name, accountsMax)

/** Selects the default policy and the viewer's own; for an admin all policies. */
export const selectVisiblePolicies = (
  db: Db,
  caller: { credential: Credential; now: number },
): D1PreparedStatement =>
  db.d1
    .prepare(
      `WITH viewer AS (${viewerSql}) SELECT a.id, a.name, a.kind, ${columns}
       FROM (SELECT '*' AS id, '*' AS name, 'system' AS kind UNION ALL
         SELECT id, name, kind FROM viewer UNION
         SELECT * FROM (SELECT id, name, kind FROM accounts
           WHERE (SELECT role FROM viewer) = 'admin' AND id IN
             (SELECT account_id FROM agents UNION SELECT account_id FROM grant_policies)
           ORDER BY name LIMIT ?5)) a ${tables}
       ORDER BY a.id <> '*', a.name`,
    )
    .bind(...viewerParams(caller.credential, caller.now), accountsMax)

export const deletePolicy = (db: Db, accountId: AccountId): D1PreparedStatement =>
  db.d1.prepare('DELETE FROM grant_policies WHERE account_id = ?1').bind(accountId)

const readList = <Entry = string>(json: string | null): Entry[] =>
  json === null ? [] : JSON.parse(json)

/** Returns an account's own policy, or null without one. */
export const readOwnPolicy = (row: AccountPolicyRow): Policy | null =>
  row.ownAllowed === null
    ? null
    : {
        allowed: readList(row.ownAllowed),
        denied: readList(row.ownDenied),
        requireApproval: readList(row.ownApproval),
        rateLimits: readList<RateLimit>(row.ownLimits),
      }

/** Returns the default policy. */
export const readDefaultPolicy = (row: AccountPolicyRow): Policy => ({
  allowed: readList(row.defaultAllowed),
  denied: readList(row.defaultDenied),
  requireApproval: readList(row.defaultApproval),
  rateLimits: readList<RateLimit>(row.defaultLimits),
})

/** Returns a row as if `target` had another policy; null is no own policy. */
export function replacePolicy(
  row: AccountPolicyRow,
  target: AccountId | '*',
  policy: Policy | null,
): AccountPolicyRow {
  const own = {
    ownAllowed: policy && JSON.stringify(policy.allowed),
    ownDenied: policy && JSON.stringify(policy.denied),
    ownApproval: policy && JSON.stringify(policy.requireApproval),
    ownLimits: policy && JSON.stringify(policy.rateLimits),
  }
  if (target !== '*') return row.id === target ? { ...row, ...own } : row
  return {
    ...row,
    ...(row.id === '*' && own),
    defaultAllowed: own.ownAllowed,
    defaultDenied: own.ownDenied,
    defaultApproval: own.ownApproval,
    defaultLimits: own.ownLimits,
  }
}

/** Returns the policy that applies to an account: its own merged with the default. */
export const toEffectivePolicy = (row: AccountPolicyRow): CallPolicy => mergeCallPolicy(row)
