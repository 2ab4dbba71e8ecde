import type { AccountId } from '../../ids'
import type { GrantPolicy } from '../contract'
import type { Db } from '../db'

export interface PolicyRow {
  defaultAllowed: string | null
  defaultDenied: string | null
  ownAllowed: string | null
  ownDenied: string | null
  requested: string | null
}

export const selectPolicy = (db: Db, accountId: AccountId): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT d.allowed AS defaultAllowed, d.denied AS defaultDenied,
              o.allowed AS ownAllowed, o.denied AS ownDenied, g.grants AS requested
       FROM (SELECT ?1 AS id) x
       LEFT JOIN grant_policies d ON d.account_id = '*'
       LEFT JOIN grant_policies o ON o.account_id = x.id
       LEFT JOIN agents g ON g.account_id = x.id`,
    )
    .bind(accountId)

/** The one row that `selectPolicy` gives, for any account. */
export function readPolicyRow(results: unknown[]): PolicyRow {
  const row = results[0]
  if (row === undefined) throw new Error('selectPolicy gave no row')
  return row as PolicyRow
}

export const upsertPolicy = (
  db: Db,
  accountId: AccountId,
  policy: { allowed: string[]; denied: string[]; by: AccountId; now: number },
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO grant_policies (account_id, allowed, denied, updated_by, updated_at) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT (account_id) DO UPDATE SET allowed = excluded.allowed, denied = excluded.denied,
         updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
    )
    .bind(
      accountId,
      JSON.stringify(policy.allowed),
      JSON.stringify(policy.denied),
      policy.by,
      policy.now,
    )

const readList = (json: string | null): string[] => (json === null ? [] : JSON.parse(json))

/**
 * The policy that counts: an account's own row replaces what the default allows; what either denies
 * is denied (M3).
 */
export function mergePolicy(row: PolicyRow): GrantPolicy {
  return {
    requested: row.requested === null ? null : readList(row.requested),
    allowed: readList(row.ownAllowed ?? row.defaultAllowed),
    denied: [...new Set([...readList(row.defaultDenied), ...readList(row.ownDenied)])],
  }
}
