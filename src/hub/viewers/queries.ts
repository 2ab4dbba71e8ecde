import { eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import { oneSql, orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import {
  isAccountDisabledSql,
  isAccountShutOutSql,
  type Restriction,
  restrictionSql,
} from '../bans/ban-sql'
import { accounts, adminAccountId } from '../schema/accounts'
import { apiKeys } from '../schema/keys'
import { claims } from '../schema/people'
import { isExternalAgentSql } from './external-agent-sql'

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
export const viewerKey = alias(apiKeys, 'viewer')

const viewerFields = {
  id: viewer.id,
  name: viewer.name,
  kind: viewer.kind,
  role: viewer.role,
  displayName: viewer.displayName,
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

const isPendingSql = sql`EXISTS (SELECT 1 FROM ${claims} WHERE ${claims.accountId} = ${a.id})`

/** Columns of `WITH viewer`: of the account of a key, and of the admin's without one. */
interface ViewerColumns {
  found: SQL
  admin: SQL
}

const allColumns = (now: SQLWrapper): ViewerColumns => ({
  found: sql`${a.id}, ${a.name}, ${a.kind}, ${a.role}, ${a.displayName}, ${a.ownerId}, ${k.id} AS key_id, ${k.scopes},
           ${k.lastUsedAt}, ${isAccountDisabledSql(a)} AS is_disabled, ${isPendingSql} AS is_pending,
           ${restrictionSql(a, null, now)} AS restriction`,
  admin: sql`${a.id}, ${a.name}, ${a.kind}, 'admin', ${a.displayName}, NULL, NULL, '["read","write"]', NULL, 0, 0, NULL`,
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
  sql`NOT ${isAccountShutOutSql(a, now)} AND NOT ${isPendingSql}`

/**
 * `WITH viewer AS (...)`: the account of a credential, or no row. A query reads `FROM ${viewer}`, so that
 * a page needs no extra round trip for its viewer. An account that is disabled, banned or not claimed
 * yet is no viewer.
 */
export const viewerCte = (v: BoundValues): SQL => accountCte(v, isViewerSql(v.now))

/** The same with no columns but `id` and `role`, for conditions. */
export const viewerIdCte = (v: BoundValues): SQL => accountCte(v, isViewerSql(v.now), idAndRole)

/** The same, and also an account that is banned: for what it can read of itself. */
export const bannedViewerCte = (v: BoundValues): SQL =>
  accountCte(v, sql`NOT ${isAccountDisabledSql(a)} AND NOT ${isPendingSql}`)

/** The same, and also an account that is not claimed yet: for what it can read of itself. */
export const unclaimedViewerCte = (v: BoundValues): SQL =>
  accountCte(v, sql`NOT ${isAccountShutOutSql(a, v.now)}`)

/** Values that `senderCte` binds. */
export interface SenderValues {
  /** Null for ROOKERY_ADMIN_KEY. */
  keyId: string | null
  now: number
  adminKeyHash: string
}

/**
 * The same of a key or session by its id, with `role`, `scopes`, and whether it is unlimited: it has both scopes,
 * and came from nothing that expires by itself.
 */
export const senderCte = ({
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

const selectViewerByValues = prepare((v: Params<ViewerValues>) =>
  oneSql(viewerFields, sql`FROM ${viewer}`, accountCte(v, sql`1`)),
)

/**
 * Selects the account of a credential, also one that is disabled, banned or not claimed: see
 * `findBlock`. Undefined when the credential is not valid.
 */
export const selectViewer = (credential: Credential, now: number): Statement<Viewer | undefined> =>
  selectViewerByValues(viewerValues(credential, now))

/** Selects what keeps an account from making requests. */
export const selectAccountBlock = (
  id: AccountId,
  now: number,
): Statement<Pick<Viewer, 'isDisabled' | 'isPending' | 'restriction'> | undefined> =>
  oneSql(
    {
      isDisabled: flag(isAccountDisabledSql(a)),
      isPending: flag(isPendingSql),
      restriction: restrictionSql(a, null, now),
    },
    sql`FROM ${accounts} ${a} WHERE ${a.id} = ${id}`,
  )

/** Stores when a key was last used. */
export const touchKey = (keyId: string, now: number): Statement<void> =>
  write(orm.update(apiKeys).set({ lastUsedAt: now }).where(eq(apiKeys.id, keyId)))
