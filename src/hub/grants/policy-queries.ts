import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import {
  many,
  manySql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import type { AccountId, CommunityId } from '../../shared/ids'
import type { AccountKind, CallPolicy, Role } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { grantPolicies } from '../schema/grants'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import type { Policy } from './policy-body'
import { mergeCallPolicy, type PolicyRow, storedPolicyColumns, toolsVersionSql } from './queries'

/** The default policy, or an account with its own policy or with requested grants. */
export interface AccountPolicyRow extends Omit<PolicyRow, 'requesters' | 'isOwnCall'> {
  /** `*` is the default. */
  id: AccountId | '*'
  name: string
  kind: AccountKind
  /** Update time of the account's own policy; null without one. */
  updatedAt: number | null
  updatedBy: string | null
}

const accountsMax = 500

/** @param list a select of `id`, `name` and `kind` */
function selectPoliciesOf(list: SQL): Statement<AccountPolicyRow[]> {
  const d = alias(grantPolicies, 'd')
  const o = alias(grantPolicies, 'o')
  const g = alias(agents, 'g')
  const u = alias(accounts, 'u')
  return many(
    orm
      .select({
        id: sql<AccountId | '*'>`a.id`,
        name: sql<string>`a.name`,
        kind: sql<AccountKind>`a.kind`,
        default: storedPolicyColumns(d),
        own: storedPolicyColumns(o),
        requested: g.grants,
        toolsVersion: toolsVersionSql,
        updatedAt: o.updatedAt,
        updatedBy: u.name,
      })
      .from(sql`(${list}) a`)
      .leftJoin(d, sql`${d.accountId} = '*'`)
      .leftJoin(o, sql`${o.accountId} = a.id`)
      .leftJoin(g, sql`${g.accountId} = a.id`)
      .leftJoin(u, sql`${u.id} = ${o.updatedBy}`)
      .orderBy(sql`a.id <> '*'`, sql`a.name`),
  )
}

const { id, name, kind } = accounts
const defaultRow = sql`SELECT '*' AS id, '*' AS name, 'system' AS kind`
const hasRules = sql`${id} IN (SELECT ${agents.accountId} FROM ${agents}
  UNION SELECT ${grantPolicies.accountId} FROM ${grantPolicies})`

const selectAll = prepare((v: Params<{ name: string | null }>) =>
  selectPoliciesOf(sql`${defaultRow} UNION ALL
    SELECT * FROM (SELECT ${id}, ${name}, ${kind} FROM ${accounts} WHERE ${name} = ${v.name} OR ${hasRules}
      ORDER BY ${name} = ${v.name} DESC, ${name} LIMIT ${accountsMax})`),
)

/** Selects the default policy, then agents and accounts with their own rules, and the account `name`. */
export const selectPolicies = (name: string | null): Statement<AccountPolicyRow[]> =>
  selectAll({ name })

/** Accounts that one page of policies shows. */
export const policiesPerPage = 100

const pageMax = sql.raw(String(policiesPerPage + 1))

/** Agents come by their index; of accounts with a policy of their own there are few. */
const selectPage = prepare((v: Params<{ after: string }>) =>
  selectPoliciesOf(sql`${defaultRow} UNION ALL
    SELECT * FROM (
      SELECT * FROM (SELECT ${agents.accountId}, ${agents.name}, 'agent' AS kind FROM ${agents}
        WHERE ${agents.name} > ${v.after} ORDER BY ${agents.name} LIMIT ${pageMax})
      UNION SELECT * FROM (SELECT ${id}, ${name}, ${kind} FROM ${grantPolicies}
        CROSS JOIN ${accounts} ON ${id} = ${grantPolicies.accountId} WHERE ${name} > ${v.after} ORDER BY ${name} LIMIT ${pageMax})
      ORDER BY 2 LIMIT ${pageMax})`),
)

/**
 * Selects the default policy, then a page of agents and accounts with their own rules, by name, and one more when
 * another page follows.
 */
export const selectPolicyPage = (after: string): Statement<AccountPolicyRow[]> =>
  selectPage({ after })

const selectVisible = prepare((v: Params<ViewerValues>) =>
  selectPoliciesOf(sql`${viewerCte(v)} ${defaultRow} UNION ALL
    SELECT ${viewer.id}, ${viewer.name}, ${viewer.kind} FROM ${viewer} UNION
    SELECT * FROM (SELECT ${id}, ${name}, ${kind} FROM ${accounts}
      WHERE (SELECT ${viewer.role} FROM ${viewer}) = 'admin' AND ${hasRules}
      ORDER BY ${name} LIMIT ${accountsMax})`),
)

/** Selects the default policy and the viewer's own; for an admin all policies. */
export const selectVisiblePolicies = (caller: {
  credential: Credential | null
  now: number
}): Statement<AccountPolicyRow[]> => selectVisible(viewerValues(caller.credential, caller.now))

const selectNamedBy = prepare(({ names }: Params<{ names: string }>) =>
  manySql(
    { name: accounts.name, id: accounts.id },
    sql`FROM json_each(${names}) e JOIN ${accounts} ON ${accounts.name} = e.value`,
  ),
)

/** Selects the accounts with these names, in any case. */
export const selectNamed = (names: string[]): Statement<{ name: string; id: AccountId }[]> =>
  selectNamedBy({ names: JSON.stringify(names) })

const selectModeratedBy = prepare(({ names }: Params<{ names: string }>) =>
  manySql(
    { name: communities.name, id: communities.id },
    sql`FROM json_each(${names}) e JOIN ${communities} ON ${communities.name} = e.value`,
  ),
)

/** Selects the communities with these names. */
export const selectModerated = (names: string[]): Statement<{ name: string; id: CommunityId }[]> =>
  selectModeratedBy({ names: JSON.stringify(names) })

export const deletePolicy = (accountId: AccountId): Statement<void> =>
  write(orm.delete(grantPolicies).where(eq(grantPolicies.accountId, accountId)))

const emptyPolicy: Policy = { allowed: [], denied: [], requireApproval: [], rateLimits: [] }

/** Returns the default policy. */
export const readDefaultPolicy = (row: AccountPolicyRow): Policy => row.default ?? emptyPolicy

/** Returns a row as if `target` had another policy; null is no own policy. */
export function replacePolicy(
  row: AccountPolicyRow,
  target: AccountId | '*',
  policy: Policy | null,
): AccountPolicyRow {
  if (target !== '*') return row.id === target ? { ...row, own: policy } : row
  return { ...row, default: policy, own: row.id === '*' ? policy : row.own }
}

/**
 * Returns the policy that applies to an account when an account with this role requests, which moderates
 * these communities, or when an external account calls itself: its own merged with the default.
 */
export const toEffectivePolicy = (
  row: AccountPolicyRow,
  role: Role = 'member',
  moderates: string[] = [],
): CallPolicy =>
  mergeCallPolicy({
    ...row,
    requesters: [{ name: '', role, moderates }],
    isOwnCall: row.id !== '*' && row.requested === null,
  })
