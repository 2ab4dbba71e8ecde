import { eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { sharedTable } from '../../shared/db/compile-sql'
import { flag, type RowOf } from '../../shared/db/fields'
import { oneSql, orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import type { Settings } from '../../shared/settings'
import { sha256 } from '../../shared/sha256'
import type { Actor, Role } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { accessGuard, accounts, adminAccountId, apiKeys } from '../schema/accounts'
import { agents } from '../schema/definitions'
import {
  isAccountDisabledSql,
  isAccountShutOutSql,
  isPendingSql,
  type Restriction,
  restrictionSql,
} from './ban-sql'

const hashes = new Map<string, string>()

/** Returns the SHA-256 of ROOKERY_ADMIN_KEY, hex; '' when it is not set. */
export async function hashAdminKey({
  ROOKERY_ADMIN_KEY: key,
}: Pick<Settings, 'ROOKERY_ADMIN_KEY'>): Promise<string> {
  if (!key) return ''
  const hash = hashes.get(key) ?? (await sha256(key))
  hashes.set(key, hash)
  return hash
}

/** The account of the request that a `Reader` stands for, for FROM: `id`, `role`; no row for any other reader. */
export const requestAccountSql = (reader: SQLWrapper): SQL =>
  sharedTable('request_account', 'id, role', reader, () => {
    const cte = viewerIdCte({
      hash: sql`${reader} ->> 'hash'`,
      now: sql`${reader} ->> 'now'`,
      isSession: sql`${reader} ->> 'is_session'`,
      isAdminKey: sql`coalesce(${reader} ->> 'is_admin_key', 0)`,
      adminKeyHash: sql`${reader} ->> 'admin_key_hash'`,
    })
    return sql`${cte} SELECT ${viewer.id}, ${viewer.role} FROM ${viewer}`
  })

/**
 * The id of the account that a `Reader` is: of a request, or the one that acts. Null for everybody else. A
 * statement that names its account like this can be sent before the account of a request is known.
 */
export const accountOfReaderSql = (reader: SQLWrapper): SQL =>
  sql`coalesce(${reader} ->> 'account', (SELECT id FROM ${requestAccountSql(reader)}))`

type Columns = Readonly<Record<'id' | 'kind' | 'role' | 'isModerator', SQLWrapper>>

/**
 * Whether an account is an agent that does not run on this hub, and neither an admin nor a moderator of
 * the hub: the only accounts that service keys belong to and act for.
 */
export const isExternalAgentSql = (account: Columns): SQL =>
  sql`(${account.kind} = 'agent' AND ${account.role} <> 'admin' AND ${account.isModerator} = 0
    AND NOT EXISTS (SELECT 1 FROM ${agents} WHERE ${agents.accountId} = ${account.id}))`

/** The key or session token of a request, hashed. */
export interface Credential {
  /** SHA-256 of the key or of the session token, hex; '' for an anonymous request. */
  hash: string
  isSession: boolean
  /** The key is ROOKERY_ADMIN_KEY, which works without a row in `api_keys`. */
  isAdminKey: boolean
  /** Hash of ROOKERY_ADMIN_KEY, '' when it is not set: sessions opened with an earlier one have ended. */
  adminKeyHash: string
}

/** The rows of `viewerCte`, to join in a query that needs the viewer. */
export const viewer = alias(accounts, 'viewer')
const viewerKey = alias(apiKeys, 'viewer')

const viewerFields = {
  id: viewer.id,
  name: viewer.name,
  kind: viewer.kind,
  role: viewer.role,
  displayName: viewer.displayName,
  avatarId: viewer.avatarId,
  /** The member who claimed the account. */
  ownerId: viewer.ownerId,
  /** Null for ROOKERY_ADMIN_KEY. */
  keyId: sql<string | null>`${viewer}.key_id`,
  scopes: viewerKey.scopes,
  lastUsedAt: viewerKey.lastUsedAt,
  /** Or the member who claimed it is. */
  isDisabled: flag(sql`${viewer}.is_disabled`),
  /** Registered, and not claimed by a member yet. */
  isPending: flag(sql`${viewer}.is_pending`),
  /** Ban or mute on the whole hub. */
  restriction: sql<Restriction | null>`${viewer}.restriction`.mapWith(
    (json: string): Restriction => JSON.parse(json),
  ) as SQL<Restriction | null>,
}

/** The account of a request, and the key it was read from. */
export type Viewer = RowOf<typeof viewerFields>

/** Values that `viewerCte` binds. */
export interface ViewerValues {
  hash: string
  now: number
  isSession: boolean
  isAdminKey: boolean
  adminKeyHash: string
}

/** The values of a credential; an anonymous request has no viewer. */
export const viewerValues = (credential: Credential | null, now: number): ViewerValues => ({
  hash: credential?.hash ?? '',
  now,
  isSession: credential?.isSession ?? false,
  isAdminKey: credential?.isAdminKey ?? false,
  adminKeyHash: credential?.adminKeyHash ?? '',
})

/** Prepares a statement about the viewer of a request, to be called with the credential and the time. */
export function prepareForViewer<Result>(
  build: (values: Params<ViewerValues>) => Statement<Result>,
): (credential: Credential | null, now: number) => Statement<Result> {
  const prepared = prepare(build)
  return (credential, now) => prepared(viewerValues(credential, now))
}

const k = alias(apiKeys, 'k')
const a = alias(accounts, 'a')

type BoundValues = Readonly<Record<keyof ViewerValues, SQLWrapper>>

const opener = alias(apiKeys, 'opener')
const openerAccount = alias(accounts, 'opener_account')
const sessionOpener = alias(apiKeys, 'session_opener')

/** The key that opened a service key, and its account. Joins, since SQLite limits how deep conditions nest. */
const joinOpenerSql = sql`
    LEFT JOIN ${apiKeys} ${opener} ON ${opener.id} = iif(${k.kind} = 'service', ${k.openedBy}, NULL)
    LEFT JOIN ${accounts} ${openerAccount} ON ${openerAccount.id} = ${opener.accountId}`

/** What a service key can do: act for external agents only, as long as the account that it belongs to could. */
const canServeSql = (
  now: SQLWrapper,
): SQL => sql`(${k.kind} <> 'service' OR (${isExternalAgentSql(a)}
  AND NOT coalesce(${isAccountShutOutSql(openerAccount, now)}, 0)))`

/** Columns of `WITH viewer`: of the account of a key, and of the admin's without one. */
interface ViewerColumns {
  found: SQL
  admin: SQL
}

const allColumns = (now: SQLWrapper): ViewerColumns => ({
  found: sql`${a.id}, ${a.name}, ${a.kind}, ${a.role}, ${a.displayName}, ${a.avatarId}, ${a.ownerId}, ${k.id} AS key_id, ${k.scopes},
           ${k.lastUsedAt}, ${isAccountDisabledSql(a)} AS is_disabled, ${isPendingSql(a)} AS is_pending,
           ${restrictionSql(a, null, now)} AS restriction`,
  admin: sql`${a.id}, ${a.name}, ${a.kind}, 'admin', ${a.displayName}, ${a.avatarId}, NULL, NULL, '["read","write"]', NULL, 0, 0, NULL`,
})

const idAndRole: ViewerColumns = { found: sql`${a.id}, ${a.role}`, admin: sql`${a.id}, 'admin'` }

type HolderValues = Omit<BoundValues, 'hash' | 'isSession'>

/** The account of a key or session `k`, as `WITH viewer`, if `condition` holds for the account `a`. */
const holderCte = (v: HolderValues, isKey: SQL, condition: SQL, columns: ViewerColumns): SQL => sql`
  WITH viewer AS (
    SELECT ${columns.found}
    FROM ${apiKeys} ${k} JOIN ${accounts} ${a} ON ${a.id} = ${k.accountId}${joinOpenerSql}
    WHERE ${isKey} AND (${k.expiresAt} IS NULL OR ${k.expiresAt} > ${v.now})
      AND ${k.kind} IN ('key', 'service', 'session')
      AND (${k.adminKeyHash} IS NULL OR ${k.adminKeyHash} = ${v.adminKeyHash})
      AND ${condition} AND ${canServeSql(v.now)}
    UNION ALL
    SELECT ${columns.admin}
    FROM ${accounts} ${a} WHERE ${v.isAdminKey} = 1 AND ${a.id} = ${sql.raw(`'${adminAccountId}'`)}
  )`

/** The account of a credential. */
const accountCte = (v: BoundValues, condition: SQL, columns = allColumns(v.now)): SQL =>
  holderCte(
    v,
    sql`${k.hash} = ${v.hash} AND (${k.kind} = 'session') = ${v.isSession}`,
    condition,
    columns,
  )

const isViewerSql = (now: SQLWrapper): SQL =>
  sql`NOT ${isAccountShutOutSql(a, now)} AND NOT ${isPendingSql(a)}`

/**
 * `WITH viewer AS (...)`: the account of a credential, or no row. A query reads `FROM ${viewer}`, so that
 * a page needs no extra round trip for its viewer. An account that is disabled, banned or not claimed
 * yet is no viewer.
 */
export const viewerCte = (v: BoundValues): SQL => accountCte(v, isViewerSql(v.now))

/** The same with no columns but `id` and `role`, for conditions. */
const viewerIdCte = (v: BoundValues): SQL => accountCte(v, isViewerSql(v.now), idAndRole)

/** The same, and also an account that is banned: for what it can read of itself. */
export const bannedViewerCte = (v: BoundValues): SQL =>
  accountCte(v, sql`NOT ${isAccountDisabledSql(a)} AND NOT ${isPendingSql(a)}`)

/** The same, and also an account that is not claimed yet: for what it can read of itself. */
export const unclaimedViewerCte = (v: BoundValues): SQL =>
  accountCte(v, sql`NOT ${isAccountShutOutSql(a, v.now)}`)

/** Values that `senderCte` binds. */
interface SenderValues {
  /** Null for ROOKERY_ADMIN_KEY. */
  keyId: string | null
  now: number
  adminKeyHash: string
}

/**
 * The same of a key or session by its id, with `role`, `scopes`, and whether it is unlimited: it has both scopes,
 * and came from nothing that expires by itself.
 */
const senderCte = ({
  keyId,
  now,
  adminKeyHash,
}: Readonly<Record<keyof SenderValues, SQLWrapper>>): SQL =>
  holderCte(
    { now, adminKeyHash, isAdminKey: sql`(${keyId} IS NULL)` },
    sql`${k.id} = ${keyId}`,
    isViewerSql(now),
    {
      found: sql`${a.id}, ${a.role}, ${k.scopes}, json_array_length(${k.scopes}) = 2 AND iif(${k.kind} = 'session',
        (SELECT ${sessionOpener.expiresAt} FROM ${apiKeys} ${sessionOpener} WHERE ${sessionOpener.id} = ${k.openedBy}), ${k.expiresAt}) IS NULL AS is_unlimited`,
      admin: sql`${a.id}, 'admin', '["read","write"]', 1`,
    },
  )

/** The id of a request's account, as a subquery for statements of other modules. */
export const viewerIdSql = (credential: Credential | null, now: number): SQL => {
  const values = Object.entries(viewerValues(credential, now)).map(([name, value]) => [
    name,
    sql`${typeof value === 'boolean' ? Number(value) : value}`,
  ])
  const bound: BoundValues = Object.fromEntries(values)
  return sql`(${viewerIdCte(bound)} SELECT ${viewer.id} FROM ${viewer})`
}

/**
 * Selects the account of a credential, also one that is disabled, banned or not claimed: see
 * `findBlock`. Undefined when the credential is not valid.
 */
export const selectViewer = prepareForViewer((v) =>
  oneSql(viewerFields, sql`FROM ${viewer}`, accountCte(v, sql`1`)),
)

/** Selects what keeps an account from making requests. */
export const selectAccountBlock = (
  id: AccountId,
  now: number,
): Statement<Pick<Viewer, 'isDisabled' | 'isPending' | 'restriction'> | undefined> =>
  oneSql(
    {
      isDisabled: flag(isAccountDisabledSql(a)),
      isPending: flag(isPendingSql(a)),
      restriction: restrictionSql(a, null, now),
    },
    sql`FROM ${accounts} ${a} WHERE ${a.id} = ${id}`,
  )

/** Stores when a key was last used. */
export const touchKey = (keyId: string, now: number): Statement<void> =>
  write(orm.update(apiKeys).set({ lastUsedAt: now }).where(eq(apiKeys.id, keyId)))

/** What a write requires of its sender besides the scope `write`. */
interface AccessNeeds {
  /** The least role. */
  role?: Role
  /** It adds a way to sign in, which has all scopes and lasts: the sender must have them and last, too. */
  isUnlimited?: boolean
}

export const rankSql = (role: SQLWrapper): SQL =>
  sql`(CASE ${role} WHEN 'guest' THEN 0 WHEN 'member' THEN 1 ELSE 2 END)`

const failAccess = (name: SQL, before?: SQL): Statement<void> =>
  write(
    insertSelect(
      accessGuard,
      { name: sql`name` },
      sql`FROM (SELECT ${name} AS name) WHERE name IS NOT NULL`,
      before ? { before } : {},
    ),
  )

const guardSender = prepare((v: Params<SenderValues & { role: Role; isUnlimited: boolean }>) =>
  failAccess(
    sql`CASE WHEN NOT EXISTS (SELECT 1 FROM ${viewer}) THEN 'access_ended' ELSE (SELECT CASE
      WHEN NOT EXISTS (SELECT 1 FROM json_each(${viewerKey.scopes}) WHERE value = 'write') THEN 'access_scope'
      WHEN ${rankSql(viewer.role)} < ${rankSql(v.role)} THEN 'access_role'
      WHEN ${v.isUnlimited} AND NOT ${viewer}.is_unlimited THEN 'access_limited' END FROM ${viewer}) END`,
    senderCte(v),
  ),
)

/**
 * Returns the statement that fails its batch unless the key or session of a request is still valid, with the scope
 * `write` and an account that is neither disabled nor banned nor unclaimed. What gives a right that lasts, or ends
 * what was begun earlier, has it in the batch that writes: a check before can be out of date. `toAccessError` has
 * its errors.
 *
 * @param keyId of the request; null for ROOKERY_ADMIN_KEY
 */
export const guardAccess = async (
  { clock, settings }: Pick<ActionContext, 'clock' | 'settings'>,
  keyId: string | null,
  { role = 'guest', isUnlimited = false }: AccessNeeds = {},
): Promise<Statement<void>> =>
  guardSender({
    keyId,
    role,
    isUnlimited,
    now: clock.now(),
    adminKeyHash: await hashAdminKey(settings),
  })

/** The same for the actor of a request; null for one that no request acts for. */
export const guardActor = async (
  context: Pick<ActionContext, 'clock' | 'settings'>,
  { keyId }: Pick<Actor, 'keyId'>,
  needs: AccessNeeds,
): Promise<Statement<void> | null> =>
  keyId === undefined ? null : guardAccess(context, keyId, needs)

/** Fails its batch with the constraint `access_<name>` when a count has reached its limit. */
export const guardLimit = (
  name: 'passkeys' | 'identities' | 'invitations' | 'service_keys' | 'rules' | 'trials',
  count: SQL,
  max: number,
): Statement<void> => failAccess(sql`iif(${count} >= ${max}, ${sql.raw(`'access_${name}'`)}, NULL)`)
