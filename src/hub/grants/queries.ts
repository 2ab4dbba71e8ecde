import { eq, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { approvals } from '../../shared/config'
import { number } from '../../shared/db/fields'
import {
  many,
  manySql,
  mapStatement,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommunityId } from '../../shared/ids'
import type {
  AccountKind,
  CallPolicy,
  GrantPolicy,
  RateBucket,
  Requester,
  Role,
} from '../contract/hub'
import { type HeldBy, renameInLine, selectHeldLines } from '../contract/policy-line'
import { mayModerateSql } from '../rules/moderator-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { grantPolicies, rateBuckets } from '../schema/approvals'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { replayLanes } from '../schema/replays'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import type { Policy } from './policy'

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

const account = alias(accounts, 'r')
const c = alias(communities, 'c')

/**
 * The requesters of a list of account ids, as JSON, with what they moderate of the communities in `named`
 * of a policy. An account that is gone counts as a guest.
 */
export const requestersSql = (ids: SQLWrapper, named: SQLWrapper): SQL<Requester[]> =>
  sql`(SELECT json_group_array(json_object('id', n.value, 'name', coalesce(${account.name}, ''),
      'role', coalesce(${account.role}, 'guest'),
      'moderates', json((SELECT json_group_array(${c.name}) FROM json_each(${named}) e
        JOIN ${communities} ${c} ON ${c.id} = e.value
        WHERE e.key GLOB 'm/*' AND ${mayModerateSql(account.id, c.id)}))))
    FROM json_each(${ids}) n LEFT JOIN ${accounts} ${account} ON ${account.id} = n.value)`.mapWith(
    (json: string): Requester[] =>
      (JSON.parse(json) as Required<Requester>[]).map(({ moderates, ...each }) =>
        moderates.length > 0 ? { ...each, moderates } : each,
      ),
  )

/** The member who owns the agent of a run, as a list of at most one id: of its payers, the one who pays it all. */
const ownerOfRunSql = (payers: SQLWrapper): SQL => sql`iif(instr(${payers}, '"isOwner":1') > 0,
  (SELECT json_array(e.key) FROM json_each(${payers}) e WHERE e.value ->> 'isOwner'), '[]')`

type OfRequesters = Record<'requesters', SQLWrapper>

/** The requesters of a run and of a lane that replays it, as a JSON list: lines of the policy have to hold for all. */
const bothSql = (run: OfRequesters, lane: OfRequesters): SQL => sql`(
  SELECT json_group_array(value) FROM (
    SELECT value FROM json_each(${run.requesters}) UNION SELECT value FROM json_each(${lane.requesters})))`

const selectPolicyRow = prepare((v: Params<PolicyQuery>) => {
  const x = alias(activations, 'x')
  const l = alias(replayLanes, 'l')
  const d = alias(grantPolicies, 'd')
  const o = alias(grantPolicies, 'o')
  const g = alias(agents, 'g')
  return one(
    orm
      .select({
        default: storedPolicyColumns(d),
        own: storedPolicyColumns(o),
        /** Of a lane of a replay, those of the definition that it runs. */
        requested: sql<string[] | null>`coalesce(${l.grants}, ${g.grants})`.mapWith(
          (json: string): string[] => JSON.parse(json),
        ),
        toolsVersion: toolsVersionSql,
        requesters: requestersSql(
          sql`iif(${l.id} IS NULL, coalesce(${x.requesters}, json_array(a.id)), ${bothSql(x, l)})`,
          sql`coalesce(${o.named}, ${d.named}, '{}')`,
        ),
        owner: requestersSql(
          ownerOfRunSql(sql`coalesce(${l.payers}, ${x.payers}, '')`),
          sql`coalesce(${o.named}, ${d.named}, '{}')`,
        ),
      })
      .from(sql`(SELECT ${v.accountId} AS id) a`)
      .leftJoin(d, sql`${d.accountId} = '*'`)
      .leftJoin(o, sql`${o.accountId} = a.id`)
      .leftJoin(g, sql`${g.accountId} = a.id`)
      .leftJoin(l, sql`${l.id} = ${v.activationId}`)
      .leftJoin(
        x,
        sql`${x.id} = coalesce(${l.activationId},
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

/** The default policy, or an account with its own policy or with requested grants. */
export interface AccountPolicyRow extends Omit<PolicyRow, 'requesters' | 'isOwnCall'> {
  /** `*` is the default. */
  id: AccountId | '*'
  name: string
  kind: AccountKind
  /** Null in the pages of policies, which do not show it. */
  displayName: string | null
  /** Update time of the account's own policy; null without one. */
  updatedAt: number | null
  updatedBy: string | null
}

const accountsMax = 500

/** @param list a select of `id`, `name`, `kind` and `display_name` */
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
        displayName: sql<string | null>`a.display_name`,
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

const { id, name, kind, displayName } = accounts
const defaultRow = sql`SELECT '*' AS id, '*' AS name, 'system' AS kind, NULL AS display_name`
const hasRules = sql`${id} IN (SELECT ${agents.accountId} FROM ${agents}
  UNION SELECT ${grantPolicies.accountId} FROM ${grantPolicies})`

/** Selects the default policy, then agents and accounts with their own rules, and the account `name`. */
export const selectPolicies = prepare((v: Params<{ name: string | null }>) =>
  selectPoliciesOf(sql`${defaultRow} UNION ALL
    SELECT * FROM (SELECT ${id}, ${name}, ${kind}, ${displayName} FROM ${accounts} WHERE ${name} = ${v.name} OR ${hasRules}
      ORDER BY ${name} = ${v.name} DESC, ${name} LIMIT ${accountsMax})`),
)

/** Accounts that one page of policies shows. */
export const policiesPerPage = 100

const pageMax = sql.raw(String(policiesPerPage + 1))

/**
 * Selects the default policy, then a page of agents and accounts with their own rules, by name, and one more when
 * another page follows. Agents come by their index; of accounts with a policy of their own there are few.
 */
export const selectPolicyPage = prepare((v: Params<{ after: string }>) =>
  selectPoliciesOf(sql`${defaultRow} UNION ALL
    SELECT * FROM (
      SELECT * FROM (SELECT ${agents.accountId}, ${agents.name}, 'agent' AS kind, NULL FROM ${agents}
        WHERE ${agents.name} > ${v.after} ORDER BY ${agents.name} LIMIT ${pageMax})
      UNION SELECT * FROM (SELECT ${id}, ${name}, ${kind}, NULL FROM ${grantPolicies}
        CROSS JOIN ${accounts} ON ${id} = ${grantPolicies.accountId} WHERE ${name} > ${v.after} ORDER BY ${name} LIMIT ${pageMax})
      ORDER BY 2 LIMIT ${pageMax})`),
)

const selectVisible = prepare((v: Params<ViewerValues>) =>
  selectPoliciesOf(sql`${viewerCte(v)} ${defaultRow} UNION ALL
    SELECT ${viewer.id}, ${viewer.name}, ${viewer.kind}, ${viewer.displayName} FROM ${viewer} UNION
    SELECT * FROM (SELECT ${id}, ${name}, ${kind}, ${displayName} FROM ${accounts}
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

/** `rules` is a JSON list of buckets. */
type Values = Params<{ rules: string; now: number }>

type Bucket = Record<'tokens' | 'updatedAt', SQLWrapper>

const b = alias(rateBuckets, 'b')

/** A member of an entry of `rules`. */
const member = (rule: SQL, name: keyof RateBucket): SQL =>
  sql`(${rule}.value ->> ${sql.raw(`'${name}'`)})`

/** Returns the tokens in a bucket at the time `now`, refilled since its last update. */
const levelSql = (bucket: Bucket, rule: SQL, now: Values['now']): SQL =>
  sql`min(${member(rule, 'limit')}, ${bucket.tokens}
    + max(0, ${now} - ${bucket.updatedAt}) * 1.0 * ${member(rule, 'limit')} / ${member(rule, 'perMs')})`

const [r, o] = [sql`r`, sql`o`]

const insertMissing = prepare((v: Values) =>
  write(
    insertSelect(
      rateBuckets,
      { id: member(r, 'id'), tokens: member(r, 'limit'), updatedAt: v.now },
      sql`FROM json_each(${v.rules}) r WHERE true ON CONFLICT DO NOTHING`,
    ),
  ),
)

const selectShortfall = prepare((v: Values) => {
  const shortMs = sql`max((1 - ${levelSql(b, r, v.now)}) * ${member(r, 'perMs')} / ${member(r, 'limit')})`
  return oneSql(
    { shortMs: number(shortMs) },
    sql`FROM json_each(${v.rules}) r JOIN ${rateBuckets} ${b} ON ${b.id} = ${member(r, 'id')}`,
  )
})

const takeTokens = prepare((v: Values) =>
  writeChanges(
    updateSet(
      rateBuckets,
      {
        tokens: sql`${levelSql(rateBuckets, r, v.now)} - 1`,
        updatedAt: sql`max(${rateBuckets.updatedAt}, ${v.now})`,
      },
      sql`FROM json_each(${v.rules}) r WHERE ${rateBuckets.id} = ${member(r, 'id')} AND NOT EXISTS (
        SELECT 1 FROM json_each(${v.rules}) o JOIN ${rateBuckets} ${b} ON ${b.id} = ${member(o, 'id')}
        WHERE ${levelSql(b, o, v.now)} < 1)`,
    ),
  ),
)

/**
 * Returns the statements of a batch that takes a token from each bucket, or none if any bucket has less
 * than one. A single statement decides, so that limits are exact for concurrent callers.
 *
 * @returns `shortMs` answers how long to wait for a token, in milliseconds
 */
export function createTakeTokensStatements(
  buckets: RateBucket[],
  now: number,
): { missing: Statement<void>; shortMs: Statement<number>; isTaken: Statement<boolean> } {
  const values = { rules: JSON.stringify(buckets), now }
  return {
    missing: insertMissing(values),
    shortMs: mapStatement(selectShortfall(values), (row) => row?.shortMs ?? 0),
    isTaken: takeTokens(values),
  }
}

/** Deletes buckets that were idle long enough to be full again. */
export const deleteIdleBuckets = (now: number): Statement<void> =>
  write(orm.delete(rateBuckets).where(lt(rateBuckets.updatedAt, now - approvals.bucketIdleMs)))
