import { eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { oneSql, orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { accounts, adminAccountId } from '../schema/accounts'
import { apiKeys } from '../schema/keys'

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
  /** Null for ROOKERY_ADMIN_KEY. */
  keyId: sql<string | null>`${viewer}.key_id`,
  scopes: viewerKey.scopes,
  lastUsedAt: viewerKey.lastUsedAt,
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

/**
 * `WITH viewer AS (...)`: the account of a credential, or no row. A query reads `FROM ${viewer}`, so that
 * a page needs no extra round trip for its viewer.
 */
export const viewerCte = (v: Readonly<Record<keyof ViewerValues, SQLWrapper>>): SQL => sql`
  WITH viewer AS (
    SELECT ${a.id}, ${a.name}, ${a.kind}, ${a.role}, ${a.displayName}, ${k.id} AS key_id, ${k.scopes},
           ${k.lastUsedAt}
    FROM ${apiKeys} ${k} JOIN ${accounts} ${a} ON ${a.id} = ${k.accountId}
    WHERE ${k.hash} = ${v.hash} AND (${k.expiresAt} IS NULL OR ${k.expiresAt} > ${v.now})
      AND ${k.kind} IN ('key', 'service', 'session') AND (${k.kind} = 'session') = ${v.isSession}
      AND (${k.adminKeyHash} IS NULL OR ${k.adminKeyHash} = ${v.adminKeyHash})
    UNION ALL
    SELECT ${a.id}, ${a.name}, ${a.kind}, 'admin', ${a.displayName}, NULL, '["read","write"]', NULL
    FROM ${accounts} ${a} WHERE ${v.isAdminKey} = 1 AND ${a.id} = ${sql.raw(`'${adminAccountId}'`)}
  )`

const selectViewerByValues = prepare((v: Params<ViewerValues>) =>
  oneSql(viewerFields, sql`FROM ${viewer}`, viewerCte(v)),
)

/** Selects the account of a credential; undefined when the credential is not valid. */
export const selectViewer = (credential: Credential, now: number): Statement<Viewer | undefined> =>
  selectViewerByValues(viewerValues(credential, now))

/** Stores when a key was last used. */
export const touchKey = (keyId: string, now: number): Statement<void> =>
  write(orm.update(apiKeys).set({ lastUsedAt: now }).where(eq(apiKeys.id, keyId)))
