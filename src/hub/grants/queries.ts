import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { number } from '../../shared/db/fields'
import {
  mapStatement,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import type { AccountId, ActivationId, CommunityId } from '../../shared/ids'
import type { CallPolicy, GrantPolicy, Requester } from '../contract/hub'
import { type HeldBy, renameInLine, selectHeldLines } from '../contract/policy-line'
import { mayModerateSql } from '../moderators/moderator-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { grantPolicies } from '../schema/grants'

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
  /** For whom the lines of the policy have to hold. */
  requesters: HeldBy[]
  /** The member who owns the agent, as a list of at most one: its rights never exceed theirs. */
  owner?: HeldBy[]
  /** Whether the account itself is the requester. */
  isOwnCall?: boolean
}

/** The part of a row that `mergePolicy` needs, such as an account's page selects it. */
interface MergedColumns {
  default: Pick<StoredPolicy, 'allowed' | 'denied'> | null
  own: Pick<StoredPolicy, 'allowed' | 'denied'> | null
  requested: string[] | null
  toolsVersion?: number | null
  requesters: HeldBy[]
  owner?: HeldBy[]
  isOwnCall?: boolean
}

/** A name that no account can have: two hyphens are not allowed in names. */
const goneName = 'deleted--account'

const n = alias(accounts, 'n')

/**
 * Returns the allowed lines of `grant_policies` under some name. They name accounts as these are called
 * now: an account is stored by its id, so that nobody inherits its lines with its name.
 */
export const allowedLinesSql = (table: Record<'allowed' | 'named', SQLWrapper>): SQL<string[]> =>
  sql`iif(${table.allowed} IS NULL, NULL, json_array(json(${table.allowed}),
    json((SELECT json_group_object(e.key, ${n.name}) FROM json_each(${table.named}) e
      JOIN ${accounts} ${n} ON ${n.id} = e.value))))`.mapWith((json: string): string[] => {
    const [lines, names] = JSON.parse(json) as [string[], Record<string, string>]
    return lines.map((line) => renameInLine(line, (name) => names[name] ?? goneName))
  })

/** Returns the columns of `StoredPolicy`, of `grant_policies` under some name. */
export const storedPolicyColumns = <Denied, Approval, Limits>(table: {
  allowed: SQLWrapper
  named: SQLWrapper
  denied: Denied
  requireApproval: Approval
  rateLimits: Limits
}) => ({
  allowed: allowedLinesSql(table),
  denied: table.denied,
  requireApproval: table.requireApproval,
  rateLimits: table.rateLimits,
})

/** Version of the list of remote MCP servers, whose table belongs to another part of the deployment. */
export const toolsVersionSql = number(sql`(SELECT version FROM tools_version)`)

export const selectToolsVersion = prepare(() =>
  mapStatement(oneSql({ version: toolsVersionSql }, sql``), (row) => row?.version ?? 0),
)

/** Names of the remote servers where an account has connected its own; their table belongs to the same part. */
export const connectedServicesSql = (account: SQLWrapper): SQL<string[]> =>
  sql`(SELECT json_group_array(service) FROM connected_accounts
    WHERE account_id = ${account} AND ended_at IS NULL)`.mapWith((json: string): string[] =>
    JSON.parse(json),
  )

const r = alias(accounts, 'r')
const c = alias(communities, 'c')

/**
 * The requesters of a list of account ids, as JSON, with what they moderate of the communities in `named`
 * of a policy. An account that is gone counts as a guest.
 */
export const requestersSql = (ids: SQLWrapper, named: SQLWrapper): SQL<Requester[]> =>
  sql`(SELECT json_group_array(json_object('id', n.value, 'name', coalesce(${r.name}, ''),
      'role', coalesce(${r.role}, 'guest'),
      'moderates', json((SELECT json_group_array(${c.name}) FROM json_each(${named}) e
        JOIN ${communities} ${c} ON ${c.id} = e.value
        WHERE e.key GLOB 'm/*' AND ${mayModerateSql(r.id, c.id)}))))
    FROM json_each(${ids}) n LEFT JOIN ${accounts} ${r} ON ${r.id} = n.value)`.mapWith(
    (json: string): Requester[] =>
      (JSON.parse(json) as Required<Requester>[]).map(({ moderates, ...each }) =>
        moderates.length > 0 ? { ...each, moderates } : each,
      ),
  )

/** The member who owns the agent of a run, as a list of at most one id: of its payers, the one who pays it all. */
const ownerOfRunSql = (payers: SQLWrapper): SQL => sql`iif(instr(${payers}, '"isOwner":1') > 0,
  (SELECT json_array(e.key) FROM json_each(${payers}) e WHERE e.value ->> 'isOwner'), '[]')`

const selectPolicyRow = prepare((v: Params<PolicyQuery>) => {
  const x = alias(activations, 'x')
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
        requesters: requestersSql(
          sql`coalesce(${x.requesters}, json_array(a.id))`,
          sql`coalesce(${o.named}, ${d.named}, '{}')`,
        ),
        owner: requestersSql(
          ownerOfRunSql(sql`coalesce(${x.payers}, '')`),
          sql`coalesce(${o.named}, ${d.named}, '{}')`,
        ),
      })
      .from(sql`(SELECT ${v.accountId} AS id) a`)
      .leftJoin(d, sql`${d.accountId} = '*'`)
      .leftJoin(o, sql`${o.accountId} = a.id`)
      .leftJoin(g, sql`${g.accountId} = a.id`)
      .leftJoin(
        x,
        sql`${x.id} = coalesce(
          (SELECT ${activations.id} FROM ${activations} WHERE ${activations.resumedBy} = ${v.activationId}),
          ${v.activationId})`,
      ),
  )
})

interface PolicyQuery {
  accountId: AccountId
  /** The run in which the account calls, or the request that resumed it; null: the account calls itself. */
  activationId: ActivationId | null
}

/** Selects the policies that apply to an account on behalf of its requesters. There is always a row. */
export const selectPolicy = (
  accountId: AccountId,
  activationId: ActivationId | null,
): Statement<PolicyRow & { requesters: Requester[] }> =>
  mapStatement(selectPolicyRow({ accountId, activationId }), (row) => {
    if (row === undefined) throw new Error('selectPolicy returned no row')
    return { ...row, isOwnCall: activationId === null }
  })

/**
 * Inserts or replaces a policy.
 *
 * @param policy `named` has the ids of the accounts that its lines name, by name in lower case, and of
 *   the communities whose moderators they name, as `m/name`
 */
export function upsertPolicy(
  accountId: AccountId | '*',
  policy: StoredPolicy & {
    named: Record<string, AccountId | CommunityId>
    by: AccountId
    now: number
  },
): Statement<void> {
  const { allowed, named, denied, requireApproval, rateLimits, by, now } = policy
  const set = {
    allowed,
    named,
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
 * Returns the grants that apply to an account on behalf of its requesters: its own allowed lines replace
 * those of the default, and of them those apply that hold for every requester. The denied grants of both
 * apply.
 */
export function mergePolicy({
  default: base,
  own,
  requested,
  toolsVersion,
  requesters,
  owner = [],
  isOwnCall = false,
}: MergedColumns): GrantPolicy {
  const lines = (own ?? base)?.allowed ?? []
  return {
    requested,
    requesters,
    ...selectHeldLines(lines, requesters, { isOwnCall, owner: owner[0] ?? null }),
    denied: [...new Set([...(base?.denied ?? []), ...(own?.denied ?? [])])],
    ...(toolsVersion && { toolsVersion }),
  }
}

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
