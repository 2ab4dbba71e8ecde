import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { number } from '../../shared/db/fields'
import {
  mapStatement,
  one,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import type { CallPolicy, GrantPolicy } from '../contract/hub'
import { agents } from '../definitions/schema'
import { grantPolicies } from './schema'

/** A policy as it is stored, without who changed it. */
type StoredPolicy = Omit<CallPolicy, keyof GrantPolicy> & Pick<GrantPolicy, 'allowed' | 'denied'>

/** What decides about the calls of an account. */
export interface PolicyRow {
  default: StoredPolicy | null
  /** The account's own policy. */
  own: StoredPolicy | null
  /** Grants that its definition requests; null for an account without one. */
  requested: string[] | null
  /** See `GrantPolicy.toolsVersion`. */
  toolsVersion: number | null
}

/** The part of a row that `mergePolicy` needs, such as an account's page selects it. */
interface MergedColumns {
  default: Pick<StoredPolicy, 'allowed' | 'denied'> | null
  own: Pick<StoredPolicy, 'allowed' | 'denied'> | null
  requested: string[] | null
  toolsVersion?: number | null
}

/** Returns the columns of `StoredPolicy`, of `grant_policies` under some name. */
export const storedPolicyColumns = <Allowed, Denied, Approval, Limits>(table: {
  allowed: Allowed
  denied: Denied
  requireApproval: Approval
  rateLimits: Limits
}) => ({
  allowed: table.allowed,
  denied: table.denied,
  requireApproval: table.requireApproval,
  rateLimits: table.rateLimits,
})

/** Version of the list of remote MCP servers, whose table belongs to another part of the deployment. */
export const toolsVersionSql = number(sql`(SELECT version FROM tools_version)`)

const selectPolicyRow = prepare(({ accountId }: Params<{ accountId: AccountId | '*' }>) => {
  const d = alias(grantPolicies, 'd')
  const o = alias(grantPolicies, 'o')
  const g = alias(agents, 'g')
  return one(
    orm
      .select({
        default: storedPolicyColumns(d),
        own: storedPolicyColumns(o),
        requested: g.grants,
        toolsVersion: toolsVersionSql,
      })
      .from(sql`(SELECT ${accountId} AS id) x`)
      .leftJoin(d, sql`${d.accountId} = '*'`)
      .leftJoin(o, sql`${o.accountId} = x.id`)
      .leftJoin(g, sql`${g.accountId} = x.id`),
  )
})

/** Selects the policies that apply to an account; `*` is the default alone. There is always a row. */
export const selectPolicy = (accountId: AccountId | '*'): Statement<PolicyRow> =>
  mapStatement(selectPolicyRow({ accountId }), (row) => {
    if (row === undefined) throw new Error('selectPolicy returned no row')
    return row
  })

/** Inserts or replaces a policy. */
export function upsertPolicy(
  accountId: AccountId | '*',
  policy: StoredPolicy & { by: AccountId; now: number },
): Statement<void> {
  const { allowed, denied, requireApproval, rateLimits, by, now } = policy
  const set = {
    allowed,
    denied,
    requireApproval,
    rateLimits,
    updatedBy: by,
    updatedAt: now,
  }
  return write(
    orm
      .insert(grantPolicies)
      .values({ accountId, ...set })
      .onConflictDoUpdate({ target: grantPolicies.accountId, set }),
  )
}

/**
 * Returns the grants that apply to an account: its own allowed grants replace those of the default,
 * and the denied grants of both apply.
 */
export const mergePolicy = ({
  default: base,
  own,
  requested,
  toolsVersion,
}: MergedColumns): GrantPolicy => ({
  requested,
  allowed: (own ?? base)?.allowed ?? [],
  denied: [...new Set([...(base?.denied ?? []), ...(own?.denied ?? [])])],
  ...(toolsVersion && { toolsVersion }),
})

/** Returns `mergePolicy` with approval rules and rate limits; those of both rows apply. */
export const mergeCallPolicy = (row: PolicyRow): CallPolicy => {
  const { default: base, own } = row
  return {
    ...mergePolicy(row),
    requireApproval: [
      ...new Set([...(base?.requireApproval ?? []), ...(own?.requireApproval ?? [])]),
    ],
    rateLimits: [...(base?.rateLimits ?? []), ...(own?.rateLimits ?? [])],
  }
}
